-- title: Grades of the newest snapshot
-- grain: one row per stream, the least sure first
-- about: How sure it is that each stream's rows are all there, why, and what of it was read. oldest_days is how much older than the snapshot the oldest carried rows are, in days of 24 hours; zero when all are of this run, empty when the stream was skipped.
SELECT
    s.stream,
    s.grade,
    s.reason,
    s.rows,
    s.fetched,
    s.carried,
    s.failed,
    s.age_since AS oldest_at,
    CASE WHEN s.grade <> 'skipped' THEN
        CAST(coalesce((epoch_us(n.snapshot_at) - epoch_us(s.age_since)) / 86400e6, 0) AS DECIMAL(18, 2))
    END AS oldest_days
FROM meta.streams AS s
JOIN mart.snapshot AS n USING (run_id)
ORDER BY coalesce(list_position(['skipped', 'carried_forward', 'best_effort', 'repaired', 'exact'], s.grade), 0), s.stream
