-- Values and records that did not fit their column, kept raw. Key: run_id, seq.
CREATE TABLE rejects (
    run_id      VARCHAR NOT NULL, -- field 1
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

COMMENT ON TABLE rejects IS 'Values and records that did not fit, kept raw with the reason, one row each; the column itself is NULL in the table, and a record that was refused whole is not in it.';
COMMENT ON COLUMN rejects.run_id IS 'Run that read it: runs.run_id.';
COMMENT ON COLUMN rejects.seq IS 'Number of the reject within the run, from 1.';
COMMENT ON COLUMN rejects.table_name IS 'Table that the value was meant for.';
COMMENT ON COLUMN rejects.key IS 'Key of the row, its columns joined by a slash; of a single record that was refused, the id that was asked for. NULL where it cannot be read.';
COMMENT ON COLUMN rejects.column_name IS 'Dotted path of the field in the record, mostly the column; NULL when the whole record was refused.';
COMMENT ON COLUMN rejects.raw IS 'The JSON text of the answer; a mark replaces what the privacy rules withhold.';
COMMENT ON COLUMN rejects.reason IS 'Why it did not fit.';
COMMENT ON COLUMN rejects.parent IS 'Key of the row around it, or the id by which its list was asked for; NULL where there is none.';
COMMENT ON COLUMN rejects.page IS 'Page of the list that it was on, from 1; NULL outside of lists.';
COMMENT ON COLUMN rejects.position IS 'Place of the record in that page or answer, from 1.';
