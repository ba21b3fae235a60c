-- Values and records that did not fit their column, kept raw. Key: run_id, seq.
CREATE TABLE rejects (
    run_id      VARCHAR NOT NULL,
    seq         BIGINT NOT NULL,
    table_name  VARCHAR,
    key         VARCHAR,
    column_name VARCHAR,
    raw         VARCHAR,
    reason      VARCHAR
);

COMMENT ON TABLE rejects IS 'Values and records that did not fit, kept raw with the reason; the column itself is NULL in the table.';
COMMENT ON COLUMN rejects.run_id IS 'The night that the row is about: runs.run_id.';
COMMENT ON COLUMN rejects.seq IS 'Number of the reject within the run, from 1.';
COMMENT ON COLUMN rejects.table_name IS 'Table that the value was meant for.';
COMMENT ON COLUMN rejects.key IS 'Key of the row, its columns joined by a slash; NULL when the record has none.';
COMMENT ON COLUMN rejects.column_name IS 'Column that the value was meant for; NULL when the whole record was refused.';
COMMENT ON COLUMN rejects.raw IS 'The JSON text as answered.';
COMMENT ON COLUMN rejects.reason IS 'Why it did not fit.';
