-- The evidence for every stream of a run: grade and numbers. Key: run_id, stream.
CREATE TABLE streams (
    run_id       VARCHAR NOT NULL,
    stream       VARCHAR NOT NULL,
    grade        VARCHAR,
    reason       VARCHAR,
    pages        BIGINT,
    requests     BIGINT,
    passes       BIGINT,
    total_first  BIGINT,
    total_last   BIGINT,
    distinct_ids BIGINT,
    repeated_ids BIGINT,
    rows         BIGINT,
    fetched      BIGINT,
    carried      BIGINT,
    rechecked    BIGINT,
    failed       BIGINT,
    unread       BIGINT,
    age_since    TIMESTAMPTZ
);

COMMENT ON TABLE streams IS 'How completely each stream was read in a run, with the numbers that prove it.';
COMMENT ON COLUMN streams.run_id IS 'The night that the row is about: runs.run_id.';
COMMENT ON COLUMN streams.stream IS 'Name of the stream.';
COMMENT ON COLUMN streams.grade IS 'How sure it is that all rows are there: exact, repaired, best_effort, carried_forward or skipped.';
COMMENT ON COLUMN streams.reason IS 'Why the grade is what it is.';
COMMENT ON COLUMN streams.pages IS 'Pages read over all passes.';
COMMENT ON COLUMN streams.requests IS 'Requests sent, retries included.';
COMMENT ON COLUMN streams.passes IS 'Passes over the list.';
COMMENT ON COLUMN streams.total_first IS 'total_records in the first answer; NULL where the envelope has none.';
COMMENT ON COLUMN streams.total_last IS 'total_records in the last answer; NULL where the envelope has none.';
COMMENT ON COLUMN streams.distinct_ids IS 'Different ids seen over all passes.';
COMMENT ON COLUMN streams.repeated_ids IS 'Ids seen more than once within one pass.';
COMMENT ON COLUMN streams.rows IS 'Rows of the first table of the stream in the snapshot.';
COMMENT ON COLUMN streams.fetched IS 'Details fetched in this run.';
COMMENT ON COLUMN streams.carried IS 'Details carried forward unchanged from the last snapshot.';
COMMENT ON COLUMN streams.rechecked IS 'Settled details that were fetched again as part of the rotating share.';
COMMENT ON COLUMN streams.failed IS 'Details that could not be fetched; the rows of the last snapshot stand.';
COMMENT ON COLUMN streams.unread IS 'Ids not read tonight because the night''s bound was reached; the rows of the last snapshot stand, and the following nights read them.';
COMMENT ON COLUMN streams.age_since IS 'Time of the snapshot that the oldest carried rows come from, UTC; NULL when all are of this run.';
