-- The newest snapshot. Its time is now for every query.
-- grain: one row
CREATE VIEW mart.snapshot AS
SELECT
    arg_max(run_id, snapshot_at) AS run_id,
    max(snapshot_at)             AS snapshot_at
FROM meta.runs
WHERE snapshot_at IS NOT NULL;

COMMENT ON VIEW mart.snapshot IS 'The newest snapshot, always one row. Queries use its time as now, so a result does not depend on the time of the query.';
COMMENT ON COLUMN mart.snapshot.run_id IS 'Run that made the snapshot: meta.runs.run_id.'; -- VARCHAR
COMMENT ON COLUMN mart.snapshot.snapshot_at IS 'Time of the snapshot, UTC; NULL before the first.'; -- TIMESTAMPTZ
