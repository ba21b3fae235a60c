-- Closed rows, with the evidence of their deletion. Key: run_id, table_name, key.
CREATE TABLE deletions (
    run_id     VARCHAR NOT NULL, -- field 1, references runs.run_id
    table_name VARCHAR NOT NULL, -- field 2
    key        VARCHAR NOT NULL, -- field 3
    evidence   VARCHAR           -- field 4
);

COMMENT ON TABLE deletions IS 'Rows that were closed because they disappeared from the service, with the evidence.';
COMMENT ON COLUMN deletions.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN deletions.table_name IS 'Table of the row.';
COMMENT ON COLUMN deletions.key IS 'Key of the row, its columns joined by a slash.';
COMMENT ON COLUMN deletions.evidence IS 'Evidence: absent from a proven list, 404 for its id, or its parent was deleted.';
