-- Grade and evidence of every stream in a run. Key: run_id, stream.
CREATE TABLE streams (
    run_id       VARCHAR NOT NULL, -- field 1, references runs.run_id
    stream       VARCHAR NOT NULL, -- field 2
    grade        VARCHAR,          -- field 3
    reason       VARCHAR,          -- field 4
    pages        BIGINT,           -- field 5
    requests     BIGINT,           -- field 6
    passes       BIGINT,           -- field 7
    total_first  BIGINT,           -- field 8
    total_last   BIGINT,           -- field 9
    distinct_ids BIGINT,           -- field 10
    repeated_ids BIGINT,           -- field 11
    rows         BIGINT,           -- field 12
    rows_old     BIGINT,           -- field 13
    fetched      BIGINT,           -- field 14
    carried      BIGINT,           -- field 15
    rechecked    BIGINT,           -- field 16
    failed       BIGINT,           -- field 17
    unread       BIGINT,           -- field 18
    age_since    TIMESTAMPTZ       -- field 19
);

COMMENT ON TABLE streams IS 'Completeness of each stream in a run, with the numbers that prove it.';
COMMENT ON COLUMN streams.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN streams.stream IS 'Name of the stream.';
COMMENT ON COLUMN streams.grade IS 'How well it is proven that no row is missing: exact, repaired, bounded, best_effort, carried_forward or skipped.';
COMMENT ON COLUMN streams.reason IS 'Reason of the grade.';
COMMENT ON COLUMN streams.pages IS 'Pages of the longest pass; 0 for single records.';
COMMENT ON COLUMN streams.requests IS 'Requests sent, retries included.';
COMMENT ON COLUMN streams.passes IS 'Passes over the list; 0 for single records.';
COMMENT ON COLUMN streams.total_first IS 'total_records in the first response; NULL if the responses state no total.';
COMMENT ON COLUMN streams.total_last IS 'total_records in the last response; NULL if the responses state no total.';
COMMENT ON COLUMN streams.distinct_ids IS 'Distinct ids over all passes; for single records, the ids that were received.';
COMMENT ON COLUMN streams.repeated_ids IS 'Ids seen on more than one page of a pass.';
COMMENT ON COLUMN streams.rows IS 'Rows of the first table of the stream in the snapshot, counting only rows that this stream fills.';
COMMENT ON COLUMN streams.rows_old IS 'Part of rows: the number of rows that this run neither read nor proved to be unchanged; 0 for webhook events.';
COMMENT ON COLUMN streams.fetched IS 'Single records fetched in this run.';
COMMENT ON COLUMN streams.carried IS 'Ids that this run did not need to request; their rows are from an earlier run.';
COMMENT ON COLUMN streams.rechecked IS 'Single records that were fetched again without a known change, because they were not read for streams.recheck nights.';
COMMENT ON COLUMN streams.failed IS 'Single records, or pages of a list, that could not be fetched; their rows are from the previous snapshot.';
COMMENT ON COLUMN streams.unread IS 'Ids that this run had no time to read (run.max_duration); their rows are from the previous snapshot, and the next nights read them.';
COMMENT ON COLUMN streams.age_since IS 'When the oldest of the rows in rows_old was read, UTC; NULL if rows_old is 0.';
