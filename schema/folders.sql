-- Folders of the team, from GET /folders. Key: id.
CREATE TABLE folders (
    id         VARCHAR NOT NULL, -- field 1
    name       VARCHAR,          -- field 2
    team_id    VARCHAR,          -- field 3
    created_by VARCHAR,          -- field 4
    created_at TIMESTAMPTZ,      -- field 5
    updated_at TIMESTAMPTZ,      -- field 6
    deleted_at TIMESTAMPTZ,      -- field 7
    extra      JSON              -- field 8
);

COMMENT ON TABLE folders IS 'Folders of the team, one row per folder. From GET /folders.';
COMMENT ON COLUMN folders.id IS 'Id of the folder. Spec 2.8 Folder.id.';
COMMENT ON COLUMN folders.name IS 'Name of the folder. Spec 2.8 Folder.name.';
COMMENT ON COLUMN folders.team_id IS 'Id of the team. Spec 2.8 Folder.team_id.';
COMMENT ON COLUMN folders.created_by IS 'Id or name of the person who created the folder. Spec 2.8 Folder.created_by.';
COMMENT ON COLUMN folders.created_at IS 'When the record was created, UTC. Spec 2.8 Folder.created_at.';
COMMENT ON COLUMN folders.updated_at IS 'When the record was last changed, UTC. Spec 2.8 Folder.updated_at.';
COMMENT ON COLUMN folders.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.8 Folder.deleted_at.';
COMMENT ON COLUMN folders.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
