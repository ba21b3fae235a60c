-- What is known of every single record: the state of its rows in the lists when it was
-- last read. Key: stream, id.
CREATE TABLE details (
    stream      VARCHAR NOT NULL,
    id          VARCHAR NOT NULL,
    fingerprint VARCHAR,
    run_id      VARCHAR,
    read_at     TIMESTAMPTZ,
    failed_at   TIMESTAMPTZ
);

COMMENT ON TABLE details IS 'When each single record was last read, and the fingerprint of the rows that named it then: equal means that it need not be read again.';
COMMENT ON COLUMN details.stream IS 'Name of the stream.';
COMMENT ON COLUMN details.id IS 'The path parameter that the record was asked for by.';
COMMENT ON COLUMN details.fingerprint IS 'Fingerprint of the rows in the lists that vouch for the record; NULL where none does.';
COMMENT ON COLUMN details.run_id IS 'The night that read it last: runs.run_id.';
COMMENT ON COLUMN details.read_at IS 'Time of the snapshot that read it last, UTC.';
COMMENT ON COLUMN details.failed_at IS 'Time of the snapshot that last asked for it in vain, UTC; NULL when the last answer was whole. The next night asks again.';
