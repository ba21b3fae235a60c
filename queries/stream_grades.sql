-- subject: quality
-- title: Grades of the newest snapshot
-- grain: one row per stream, the weakest grade first
-- about: The grade of each stream shows how complete its data is; the column reason explains it. fetched counts the ids that the run read one by one, carried the ids that it did not need to read; both are empty for lists. rows_old counts the rows of earlier runs. oldest_days is the age of the oldest of these rows at the snapshot, in days of 24 hours: 0 if there are no rows of earlier runs, empty if the stream was skipped.
-- also: complete, completeness, missing, proven, evidence, trust, quality, table
SELECT
    s.stream,
    s.grade,
    s.reason,
    s.rows,
    s.rows_old,
    CASE WHEN s.passes > 0 THEN NULL ELSE s.fetched END AS fetched,
    CASE WHEN s.passes > 0 THEN NULL ELSE s.carried END AS carried,
    s.failed,
    s.age_since AS oldest_at,
    CASE WHEN s.grade <> 'skipped' THEN
        CAST(coalesce((epoch_us(n.snapshot_at) - epoch_us(s.age_since)) / 86400e6, 0) AS DECIMAL(18, 2))
    END AS oldest_days
FROM meta.streams AS s
JOIN mart.snapshot AS n USING (run_id)
ORDER BY coalesce(list_position(['skipped', 'carried_forward', 'best_effort', 'bounded', 'repaired', 'exact'], s.grade), 0), s.stream
