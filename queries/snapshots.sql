-- subject: quality
-- title: Snapshots
-- grain: one row per published snapshot, newest first
-- about: Published snapshots with their changes and durations. hours_since_previous is the time since the previous snapshot. Nights without a snapshot are left out; the command "placementsync runs" shows them.
-- also: nights, runs, history, when, loads, imports
-- chart: line x=snapshot_at y=rows
-- param: top COUNT? 30 -- maximum number of rows
SELECT
    run_id,
    snapshot_at,
    outcome,
    rows,
    rows_new,
    rows_changed,
    rows_gone,
    requests,
    CAST((epoch_us(ended_at) - epoch_us(started_at)) / 60e6 AS DECIMAL(18, 2)) AS minutes,
    CAST((epoch_us(snapshot_at) - epoch_us(lag(snapshot_at) OVER (ORDER BY snapshot_at, run_id))) / 3600e6 AS DECIMAL(18, 2)) AS hours_since_previous
FROM meta.runs
WHERE snapshot_at IS NOT NULL
ORDER BY snapshot_at DESC, run_id DESC
LIMIT $top
