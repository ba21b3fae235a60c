-- Unknown fields and enumeration values, and converted values. Key: table_name, path, kind.
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

COMMENT ON TABLE drift IS 'Unknown fields, unknown enumeration values and converted values, counted over all runs. Unknown fields are stored in extra; the other values in their columns.';
COMMENT ON COLUMN drift.table_name IS 'Table of the records.';
COMMENT ON COLUMN drift.path IS 'Dotted path of the field in the record; for a value, the path and the value joined by an equals sign. After 20,000 rows from one run, further paths of a table and kind are counted together in one row, whose path is the character …';
COMMENT ON COLUMN drift.kind IS 'Kind: unknown_field, unknown_enum (a value that the spec does not list), converted (another JSON type with the same meaning; an empty text for a number, boolean or time becomes NULL, and is counted twice: under its path, and under its path followed by an equals sign), rounded, zoneless (a time read as UTC), invalid_utf8, duplicate_field, conflict (two values for one column; the field that the spec lists is used), duplicate (a record twice in one response; the fuller one is used).';
COMMENT ON COLUMN drift.first_run IS 'First run that found the drift.';
COMMENT ON COLUMN drift.last_run IS 'Last run that found the drift.';
COMMENT ON COLUMN drift.count IS 'Number of records. A record counts once per run; the counts of all runs are added.';
COMMENT ON COLUMN drift.sample IS 'Example from the first record, shortened.';
COMMENT ON COLUMN drift.key IS 'Key of the first record; NULL if the drift was found outside records.';
