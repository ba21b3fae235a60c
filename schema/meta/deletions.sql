-- Why each vanished row was closed. Key: run_id, table_name, key.
CREATE TABLE deletions (
    run_id     VARCHAR NOT NULL, -- field 1
    table_name VARCHAR NOT NULL, -- field 2
    key        VARCHAR NOT NULL, -- field 3
    evidence   VARCHAR           -- field 4
);

COMMENT ON TABLE deletions IS 'Rows that vanished from a table in a run, with the evidence.';
COMMENT ON COLUMN deletions.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN deletions.table_name IS 'Table that the row vanished from.';
COMMENT ON COLUMN deletions.key IS 'Key of the row, its columns joined by a slash.';
COMMENT ON COLUMN deletions.evidence IS 'Why it counts as gone: absent from a proven walk, answered 404, or its parent is gone.';
