-- Fields and enumeration values that the schema does not know. Key: table_name, path, kind.
CREATE TABLE drift (
    table_name VARCHAR NOT NULL,
    path       VARCHAR NOT NULL,
    kind       VARCHAR NOT NULL,
    first_run  VARCHAR,
    last_run   VARCHAR,
    count      BIGINT,
    sample     VARCHAR
);

COMMENT ON TABLE drift IS 'Fields and enumeration values that the schema does not know, counted over all runs.';
COMMENT ON COLUMN drift.table_name IS 'Table in whose records it was seen.';
COMMENT ON COLUMN drift.path IS 'Dotted path of the field in the record; for a value, the column and the value joined by an equals sign.';
COMMENT ON COLUMN drift.kind IS 'What is unknown: field or value.';
COMMENT ON COLUMN drift.first_run IS 'First run that saw it.';
COMMENT ON COLUMN drift.last_run IS 'Last run that saw it.';
COMMENT ON COLUMN drift.count IS 'Records that carried it, over all runs.';
COMMENT ON COLUMN drift.sample IS 'One example, shortened.';
