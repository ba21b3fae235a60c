-- Fields and enumeration values that the schema does not know. Key: table_name, path, kind.
CREATE TABLE drift (
    table_name VARCHAR NOT NULL, -- field 1
    path       VARCHAR NOT NULL, -- field 2
    kind       VARCHAR NOT NULL, -- field 3
    first_run  VARCHAR,          -- field 4
    last_run   VARCHAR,          -- field 5
    count      BIGINT,           -- field 6
    sample     VARCHAR,          -- field 7
    key        VARCHAR           -- field 8
);

COMMENT ON TABLE drift IS 'Fields and enumeration values that the schema does not know, and values that were converted, counted over all runs. Nothing of it was lost.';
COMMENT ON COLUMN drift.table_name IS 'Table in whose records it was seen.';
COMMENT ON COLUMN drift.path IS 'Dotted path of the field in the record; for a value, the path and the value joined by an equals sign.';
COMMENT ON COLUMN drift.kind IS 'What it is: unknown_field, unknown_enum (a value outside a list of the spec), converted (another JSON type that means the same), rounded, zoneless (a time taken as UTC), invalid_utf8, duplicate_field, conflict (two values for one column; the field that the spec lists stands), duplicate (a record that came twice in one answer; the fuller one stands).';
COMMENT ON COLUMN drift.first_run IS 'First run that saw it.';
COMMENT ON COLUMN drift.last_run IS 'Last run that saw it.';
COMMENT ON COLUMN drift.count IS 'Records that showed it, each counted once a run however often it was read, summed over all runs.';
COMMENT ON COLUMN drift.sample IS 'One example, shortened: that of the first record.';
COMMENT ON COLUMN drift.key IS 'Key of the first record that showed it; NULL when it stood outside of the records.';
