-- Counts of every table of a snapshot. Key: run_id, table_name.
CREATE TABLE tables (
    run_id       VARCHAR NOT NULL, -- field 1, references runs.run_id
    table_name   VARCHAR NOT NULL, -- field 2
    rows         BIGINT,           -- field 3
    rows_new     BIGINT,           -- field 4
    rows_changed BIGINT,           -- field 5
    rows_gone    BIGINT            -- field 6
);

COMMENT ON TABLE tables IS 'Rows of each table in a snapshot, and changes since the previous snapshot.';
COMMENT ON COLUMN tables.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN tables.table_name IS 'Name of the table.';
COMMENT ON COLUMN tables.rows IS 'Rows in the snapshot.';
COMMENT ON COLUMN tables.rows_new IS 'Rows whose key was not in the previous snapshot.';
COMMENT ON COLUMN tables.rows_changed IS 'Rows whose contents differ from the previous snapshot.';
COMMENT ON COLUMN tables.rows_gone IS 'Rows of the previous snapshot whose key is gone.';
