-- subject: quality
-- title: Drift of the service
-- grain: one row per table, path and kind of drift, new ones first
-- about: Fields and values that are not in the specification, and values that were converted. Unknown fields are stored in the column extra of their table, unknown values in their column. is_new marks drift that first appeared in the newest snapshot. The comment of meta.drift.kind explains the kinds.
SELECT
    d.table_name,
    d.path,
    d.kind,
    coalesce(d.first_run = n.run_id, false) AS is_new,
    d.first_run,
    d.last_run,
    d.count,
    d.sample
FROM meta.drift AS d
CROSS JOIN mart.snapshot AS n
ORDER BY is_new DESC, d.last_run DESC, d.table_name, d.kind, d.path
