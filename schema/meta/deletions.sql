-- Deleted records, with the evidence of their deletion. Key: run_id, table_name, key.
CREATE TABLE deletions (
    run_id     VARCHAR NOT NULL, -- field 1, references runs.run_id
    table_name VARCHAR NOT NULL, -- field 2
    key        VARCHAR NOT NULL, -- field 3
    evidence   VARCHAR           -- field 4
);

COMMENT ON TABLE deletions IS 'Records that were deleted in the service, one row each, with the evidence. The closed rows are in past.';
COMMENT ON COLUMN deletions.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN deletions.table_name IS 'Table of the record.';
COMMENT ON COLUMN deletions.key IS 'Key of the record; several key columns are joined by a slash.';
COMMENT ON COLUMN deletions.evidence IS 'Evidence: absent from a proven walk (a complete reading of the list) of a stream, or the status 404 after a request for the id of the record.';
