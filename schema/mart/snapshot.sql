-- The newest snapshot. Queries use its time as the current time.
-- grain: one row
CREATE VIEW mart.snapshot AS
SELECT
    arg_max(run_id, snapshot_at) AS run_id,
    max(snapshot_at)             AS snapshot_at
FROM meta.runs
WHERE snapshot_at IS NOT NULL;

COMMENT ON VIEW mart.snapshot IS 'The newest snapshot, always one row. Queries use its time as the current time, so their results do not depend on when they run.';
COMMENT ON COLUMN mart.snapshot.run_id IS 'Run that published the snapshot: meta.runs.run_id.'; -- VARCHAR
COMMENT ON COLUMN mart.snapshot.snapshot_at IS 'Time of the snapshot, UTC; NULL before the first snapshot.'; -- TIMESTAMPTZ
