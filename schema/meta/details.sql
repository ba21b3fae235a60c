-- What is known of every single record: the state of its rows in the lists when it was
-- last read. Key: stream, id.
CREATE TABLE details (
    stream      VARCHAR NOT NULL, -- field 1
    id          VARCHAR NOT NULL, -- field 2
    fingerprint VARCHAR,          -- field 3
    run_id      VARCHAR,          -- field 4
    read_at     TIMESTAMPTZ,      -- field 5
    failed_at   TIMESTAMPTZ       -- field 6
);

COMMENT ON TABLE details IS 'When each single record was last read, and the fingerprint of the rows that named it then: equal means that it need not be read again.';
COMMENT ON COLUMN details.stream IS 'Name of the stream.';
COMMENT ON COLUMN details.id IS 'Path parameter of the request for the record.';
COMMENT ON COLUMN details.fingerprint IS 'Fingerprint of the list rows that show changes of the record; NULL where no list does.';
COMMENT ON COLUMN details.run_id IS 'Run that read it last: runs.run_id.';
COMMENT ON COLUMN details.read_at IS 'Time of the snapshot that read it last, UTC.';
COMMENT ON COLUMN details.failed_at IS 'Time of the last snapshot that asked for it without a usable answer, UTC; NULL when the last answer was usable. The next night asks again.';
