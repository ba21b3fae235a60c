-- The last reading of every single record, and the fingerprint of its list rows then. Key:
-- stream, id.
CREATE TABLE details (
    stream      VARCHAR NOT NULL, -- field 1
    id          VARCHAR NOT NULL, -- field 2
    fingerprint VARCHAR,          -- field 3
    run_id      VARCHAR,          -- field 4, references runs.run_id
    read_at     TIMESTAMPTZ,      -- field 5
    failed_at   TIMESTAMPTZ       -- field 6
);

COMMENT ON TABLE details IS 'Last reading of each single record, with the fingerprint of the list rows that named it. While the fingerprint is the same, the record is not requested again.';
COMMENT ON COLUMN details.stream IS 'Name of the stream.';
COMMENT ON COLUMN details.id IS 'Path parameter of the request for the record.';
COMMENT ON COLUMN details.fingerprint IS 'Fingerprint of the list rows that show changes of the record; NULL if no list shows them.';
COMMENT ON COLUMN details.run_id IS 'Run that read it last: runs.run_id.';
COMMENT ON COLUMN details.read_at IS 'Time of the snapshot that read it last, UTC.';
COMMENT ON COLUMN details.failed_at IS 'Last snapshot whose request for it failed, UTC; NULL if the last request succeeded. The next night requests it again.';
