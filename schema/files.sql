-- Files of the team, from GET /files. Key: id.
CREATE TABLE files (
    id          VARCHAR NOT NULL, -- field 1
    name        VARCHAR,          -- field 2
    file_key    VARCHAR,          -- field 3
    file_url    VARCHAR,          -- field 4
    size        BIGINT,           -- field 5
    mime_type   VARCHAR,          -- field 6
    team_id     VARCHAR,          -- field 7
    folder_id   VARCHAR,          -- field 8, references folders.id
    uploaded_by VARCHAR,          -- field 9
    created_at  TIMESTAMPTZ,      -- field 10
    updated_at  TIMESTAMPTZ,      -- field 11
    deleted_at  TIMESTAMPTZ,      -- field 12
    extra       JSON              -- field 13
);

COMMENT ON TABLE files IS 'Files of the team, one row per file. From GET /files.';
COMMENT ON COLUMN files.id IS 'Id of the file. Spec 2.8 File.id.';
COMMENT ON COLUMN files.name IS 'Name of the file. Spec 2.8 File.name.';
COMMENT ON COLUMN files.file_key IS 'Key of the file in the storage of the service. Spec 2.8 File.file_key.';
COMMENT ON COLUMN files.file_url IS 'Address of the file. Spec 2.8 File.file_url.';
COMMENT ON COLUMN files.size IS 'Size of the file, in bytes. Spec 2.8 File.size.';
COMMENT ON COLUMN files.mime_type IS 'Media type of the file. Spec 2.8 File.mime_type.';
COMMENT ON COLUMN files.team_id IS 'Id of the team. Spec 2.8 File.team_id.';
COMMENT ON COLUMN files.folder_id IS 'Id of the folder; NULL at the top level. Spec 2.8 File.folder_id.';
COMMENT ON COLUMN files.uploaded_by IS 'Id or name of the person who uploaded the file. Spec 2.8 File.uploaded_by.';
COMMENT ON COLUMN files.created_at IS 'When the record was created, UTC. Spec 2.8 File.created_at.';
COMMENT ON COLUMN files.updated_at IS 'When the record was last changed, UTC. Spec 2.8 File.updated_at.';
COMMENT ON COLUMN files.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.8 File.deleted_at.';
COMMENT ON COLUMN files.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
