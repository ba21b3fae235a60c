-- When each detail was last read, and the fingerprint of its list rows at that time.
-- Key: stream, id.
CREATE TABLE details (
    stream      VARCHAR NOT NULL, -- field 1
    id          VARCHAR NOT NULL, -- field 2
    fingerprint VARCHAR,          -- field 3
    run_id      VARCHAR,          -- field 4, references runs.run_id
    read_at     TIMESTAMPTZ,      -- field 5
    failed_at   TIMESTAMPTZ       -- field 6
);

COMMENT ON TABLE details IS 'Last read of each single record, with the fingerprint of its list rows, also of records that the service does not have (404). If the fingerprint changes, the record is requested again.';
COMMENT ON COLUMN details.stream IS 'Name of the stream.';
COMMENT ON COLUMN details.id IS 'Path parameter of the request for the record.';
COMMENT ON COLUMN details.fingerprint IS 'Fingerprint of the rows of the record in all lists whose rows change with the record; NULL if there are no such rows.';
COMMENT ON COLUMN details.run_id IS 'Run that last read the record: runs.run_id.';
COMMENT ON COLUMN details.read_at IS 'Time of the snapshot of the run that last read the record, UTC.';
COMMENT ON COLUMN details.failed_at IS 'Time of the snapshot of the last run in which the request failed, UTC; NULL if the last request succeeded. The next night requests the record again.';
