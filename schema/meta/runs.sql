-- Runs, one row each. Key: run_id.
CREATE TABLE runs (
    run_id            VARCHAR NOT NULL, -- field 1
    kind              VARCHAR,          -- field 2
    started_at        TIMESTAMPTZ,      -- field 3
    ended_at          TIMESTAMPTZ,      -- field 4
    snapshot_at       TIMESTAMPTZ,      -- field 5
    outcome           VARCHAR,          -- field 6
    exit_code         BIGINT,           -- field 7
    requests          BIGINT,           -- field 8
    bytes             BIGINT,           -- field 9
    retries           BIGINT,           -- field 10
    throttled_seconds DECIMAL(18,6),    -- field 11
    rows              BIGINT,           -- field 12
    rows_new          BIGINT,           -- field 13
    rows_changed      BIGINT,           -- field 14
    rows_gone         BIGINT,           -- field 15
    program_version   VARCHAR,          -- field 16
    error             VARCHAR           -- field 17
);

COMMENT ON TABLE runs IS 'Runs, one row each, with their times, outcome, and numbers of requests and rows.';
COMMENT ON COLUMN runs.run_id IS 'Id of the run: its start in UTC, such as 20261120T020000Z, and a suffix if another run has this start.';
COMMENT ON COLUMN runs.kind IS 'Kind of run: night; refresh (between nights, for records named by webhook events); replay, rebuild or rollback (started by an operator). NULL means night.';
COMMENT ON COLUMN runs.started_at IS 'When the run started, UTC.';
COMMENT ON COLUMN runs.ended_at IS 'When the run ended, UTC; NULL if it was killed.';
COMMENT ON COLUMN runs.snapshot_at IS 'Time of the snapshot, UTC; NULL if the run published none. valid_from and valid_to of row versions are times of snapshots.';
COMMENT ON COLUMN runs.outcome IS 'How the run ended: complete, partial, failed, interrupted or killed.';
COMMENT ON COLUMN runs.exit_code IS 'Exit code of the program; NULL if the run was killed.';
COMMENT ON COLUMN runs.requests IS 'Requests sent, retries included.';
COMMENT ON COLUMN runs.bytes IS 'Bytes of responses received, counted on the wire.';
COMMENT ON COLUMN runs.retries IS 'Repeated requests after a failure.';
COMMENT ON COLUMN runs.throttled_seconds IS 'Time that all workers paused because the service asked for a pause, in seconds.';
COMMENT ON COLUMN runs.rows IS 'Rows of all tables in the snapshot.';
COMMENT ON COLUMN runs.rows_new IS 'Rows whose key was not in the previous snapshot.';
COMMENT ON COLUMN runs.rows_changed IS 'Rows whose contents differ from the previous snapshot.';
COMMENT ON COLUMN runs.rows_gone IS 'Rows of the previous snapshot whose key is gone.';
COMMENT ON COLUMN runs.program_version IS 'Version of the program that ran.';
COMMENT ON COLUMN runs.error IS 'Reason why the run is not complete; NULL for a complete run.';
