-- The newest snapshot. Queries use its time as the current time.
SELECT
    max_by(run_id, snapshot_at) AS run_id,
    max(snapshot_at)            AS snapshot_at
FROM ${meta}.runs
WHERE snapshot_at IS NOT NULL
