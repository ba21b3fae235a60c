-- The snapshot and its grades, for the footer of all pages.
-- grain: one row per stream, the worst grade first
SELECT n.run_id, n.snapshot_at, r.outcome, s.grade, s.reason
FROM mart.snapshot AS n
LEFT JOIN meta.runs AS r ON r.run_id = n.run_id AND r.snapshot_at = n.snapshot_at
LEFT JOIN meta.streams AS s ON s.run_id = n.run_id
ORDER BY coalesce(list_position(['skipped', 'carried_forward', 'best_effort', 'bounded', 'repaired', 'exact'], s.grade), 0)
