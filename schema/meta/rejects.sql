-- Rejected values and records, with their raw JSON. Key: run_id, seq.
CREATE TABLE rejects (
    run_id      VARCHAR NOT NULL, -- field 1, references runs.run_id
    seq         BIGINT NOT NULL,  -- field 2
    table_name  VARCHAR,          -- field 3
    key         VARCHAR,          -- field 4
    column_name VARCHAR,          -- field 5
    raw         VARCHAR,          -- field 6
    reason      VARCHAR,          -- field 7
    parent      VARCHAR,          -- field 8
    page        BIGINT,           -- field 9
    position    BIGINT            -- field 10
);

COMMENT ON TABLE rejects IS 'Rejected values and records, one row each, with the raw JSON and the reason. The column of a rejected value is NULL in its table; a rejected record has no row there.';
COMMENT ON COLUMN rejects.run_id IS 'Run that rejected the value or record: runs.run_id.';
COMMENT ON COLUMN rejects.seq IS 'Number of the reject within the run, from 1.';
COMMENT ON COLUMN rejects.table_name IS 'Table of the value or record.';
COMMENT ON COLUMN rejects.key IS 'Key of the row; several key columns are joined by a slash. For a rejected single record, the requested id. NULL if the key cannot be read.';
COMMENT ON COLUMN rejects.column_name IS 'Dotted path of the field in the record, usually the name of the column; NULL if the whole record was rejected.';
COMMENT ON COLUMN rejects.raw IS 'The JSON text that the service sent; private values are masked.';
COMMENT ON COLUMN rejects.reason IS 'Reason of the rejection.';
COMMENT ON COLUMN rejects.parent IS 'Key of the enclosing row, or the id in the request; NULL if there is neither.';
COMMENT ON COLUMN rejects.page IS 'Page of the list, from 1; NULL outside of lists.';
COMMENT ON COLUMN rejects.position IS 'Position of the record in that page or response, from 1.';
