-- Results of the checks of each run. Key: run_id, check_name.
CREATE TABLE checks (
    run_id      VARCHAR NOT NULL, -- field 1, references runs.run_id
    check_name  VARCHAR NOT NULL, -- field 2
    severity    VARCHAR,          -- field 3
    outcome     VARCHAR,          -- field 4
    reason      VARCHAR,          -- field 5
    rows        BIGINT,           -- field 6
    sample      JSON,             -- field 7
    seconds     DECIMAL(18,6),    -- field 8
    accepted_at TIMESTAMPTZ       -- field 9
);

COMMENT ON TABLE checks IS 'Results of the checks of each run, made before its snapshot was published.';
COMMENT ON COLUMN checks.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN checks.check_name IS 'Name of the check.';
COMMENT ON COLUMN checks.severity IS 'Severity of the check in this run: hold or warn.';
COMMENT ON COLUMN checks.outcome IS 'passed, failed, skipped (nothing to compare, or violating rows only in unread tables) or not run (the check failed to run).';
COMMENT ON COLUMN checks.reason IS 'Why the check was skipped, did not run or did not end; NULL otherwise.';
COMMENT ON COLUMN checks.rows IS 'Rows that violate the check.';
COMMENT ON COLUMN checks.sample IS 'First violating rows, as a JSON array of objects; NULL if no row violates the check.';
COMMENT ON COLUMN checks.seconds IS 'Duration of the check, in seconds.';
COMMENT ON COLUMN checks.accepted_at IS 'When a person published the held night despite the failed check, UTC; NULL otherwise.';
