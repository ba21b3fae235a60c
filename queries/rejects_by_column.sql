-- subject: quality
-- title: Rejected values of the newest snapshot
-- grain: one row per table, column and reason, most frequent first
-- about: Values of the service that do not fit their column. They are kept unchanged in meta.rejects and are NULL in the table. An empty column name means that whole records were rejected. The sample is one of the values, shortened.
-- also: invalid, error, bad data, unreadable, quality
-- chart: bar x=column_name y=rejects
SELECT
    r.table_name,
    r.column_name,
    r.reason,
    count(*)              AS rejects,
    left(min(r.raw), 80)  AS sample
FROM meta.rejects AS r
JOIN mart.snapshot USING (run_id)
GROUP BY r.table_name, r.column_name, r.reason
ORDER BY rejects DESC, r.table_name, r.column_name, r.reason
