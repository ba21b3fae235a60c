-- Files of an article: one row per file. Key: article_id, position. The spec does not state
-- the type of the items. The column value contains an item that is a string; the other columns
-- contain the fields of an item that is an object.
-- An item keeps its position between nights if these columns are equal: id, or else value.
CREATE TABLE article_files (
    article_id  VARCHAR NOT NULL, -- field 1, references articles.id
    position    BIGINT NOT NULL,  -- field 2
    value       VARCHAR,          -- field 3
    id          VARCHAR,          -- field 4
    name        VARCHAR,          -- field 5
    file_key    VARCHAR,          -- field 6
    file_url    VARCHAR,          -- field 7
    size        BIGINT,           -- field 8
    mime_type   VARCHAR,          -- field 9
    team_id     VARCHAR,          -- field 10
    folder_id   VARCHAR,          -- field 11, references folders.id
    uploaded_by VARCHAR,          -- field 12
    created_at  TIMESTAMPTZ,      -- field 13
    updated_at  TIMESTAMPTZ,      -- field 14
    deleted_at  TIMESTAMPTZ,      -- field 15
    extra       JSON              -- field 16
);

COMMENT ON TABLE article_files IS 'Files of an article, one row per file.';
COMMENT ON COLUMN article_files.article_id IS 'Id of the article: articles.id.';
COMMENT ON COLUMN article_files.position IS 'Number of the file in the article, counted from 1. A file with the same id or value keeps its number when the list comes in another order.';
COMMENT ON COLUMN article_files.value IS 'The string, such as an id or an address, if the list contains plain strings. Spec 2.6 Article.files.';
COMMENT ON COLUMN article_files.id IS 'Id of the file. Spec 2.8 File.id.';
COMMENT ON COLUMN article_files.name IS 'Name of the file. Spec 2.8 File.name.';
COMMENT ON COLUMN article_files.file_key IS 'Key of the file in the storage of the service. Spec 2.8 File.file_key.';
COMMENT ON COLUMN article_files.file_url IS 'Address of the file. Spec 2.8 File.file_url.';
COMMENT ON COLUMN article_files.size IS 'Size of the file, in bytes. Spec 2.8 File.size.';
COMMENT ON COLUMN article_files.mime_type IS 'Media type of the file. Spec 2.8 File.mime_type.';
COMMENT ON COLUMN article_files.team_id IS 'Id of the team. Spec 2.8 File.team_id.';
COMMENT ON COLUMN article_files.folder_id IS 'Id of the folder; NULL at the top level. Spec 2.8 File.folder_id.';
COMMENT ON COLUMN article_files.uploaded_by IS 'Id or name of the person who uploaded the file. Spec 2.8 File.uploaded_by.';
COMMENT ON COLUMN article_files.created_at IS 'When the record was created, UTC. Spec 2.8 File.created_at.';
COMMENT ON COLUMN article_files.updated_at IS 'When the record was last changed, UTC. Spec 2.8 File.updated_at.';
COMMENT ON COLUMN article_files.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.8 File.deleted_at.';
COMMENT ON COLUMN article_files.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
