-- The evidence for every stream of a run: grade and numbers. Key: run_id, stream.
CREATE TABLE streams (
    run_id       VARCHAR NOT NULL, -- field 1
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

COMMENT ON TABLE streams IS 'How completely each stream was read in a run, with the numbers that prove it.';
COMMENT ON COLUMN streams.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN streams.stream IS 'Name of the stream.';
COMMENT ON COLUMN streams.grade IS 'How sure it is that all rows are present: exact, repaired, bounded, best_effort, carried_forward or skipped.';
COMMENT ON COLUMN streams.reason IS 'Why the grade is what it is.';
COMMENT ON COLUMN streams.pages IS 'Pages of the longest pass; 0 for single records.';
COMMENT ON COLUMN streams.requests IS 'Requests sent, retries included.';
COMMENT ON COLUMN streams.passes IS 'Passes over the list; 0 for single records.';
COMMENT ON COLUMN streams.total_first IS 'total_records in the first answer; NULL where the envelope has none.';
COMMENT ON COLUMN streams.total_last IS 'total_records in the last answer; NULL where the envelope has none.';
COMMENT ON COLUMN streams.distinct_ids IS 'Different ids seen over all passes; for single records the ids that were answered.';
COMMENT ON COLUMN streams.repeated_ids IS 'Ids seen on more than one page of a pass.';
COMMENT ON COLUMN streams.rows IS 'Rows of the first table of the stream in the snapshot, as far as this stream fills it.';
COMMENT ON COLUMN streams.rows_old IS 'How many of these rows this run neither read nor proved; 0 for webhook events.';
COMMENT ON COLUMN streams.fetched IS 'Details fetched in this run.';
COMMENT ON COLUMN streams.carried IS 'Ids that did not have to be requested in this run; their rows are those of an earlier run.';
COMMENT ON COLUMN streams.rechecked IS 'Settled details that were fetched again as part of the rotating share.';
COMMENT ON COLUMN streams.failed IS 'Details that could not be fetched; their rows are those of the last snapshot.';
COMMENT ON COLUMN streams.unread IS 'Ids that this run had no time to read (run.max_duration); their rows are those of the last snapshot, and the following nights read them.';
COMMENT ON COLUMN streams.age_since IS 'Of the rows that this run neither read nor proved, when the oldest was last read: the time of that snapshot, UTC. NULL when there are none.';
