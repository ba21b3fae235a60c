-- subject: quality
-- title: Grades of the newest snapshot
-- grain: one row per stream, the least sure first
-- about: How sure it is that each stream's rows are all there, why, and what of it was read. rows_old counts the rows that were neither read nor proven in this run, and oldest_days is how much older than the snapshot the oldest reading of them is, in days of 24 hours; zero when there are none, empty when the stream was skipped.
SELECT
    s.stream,
    s.grade,
    s.reason,
    s.rows,
    s.rows_old,
    s.fetched,
    s.carried,
    s.failed,
    s.age_since AS oldest_at,
    CASE WHEN s.grade <> 'skipped' THEN
        CAST(coalesce((epoch_us(n.snapshot_at) - epoch_us(s.age_since)) / 86400e6, 0) AS DECIMAL(18, 2))
    END AS oldest_days
FROM meta.streams AS s
JOIN mart.snapshot AS n USING (run_id)
ORDER BY coalesce(list_position(['skipped', 'carried_forward', 'best_effort', 'bounded', 'repaired', 'exact'], s.grade), 0), s.stream
