-- subject: quality
-- title: Rejected values of the newest snapshot
-- grain: one row per table, column and reason, most frequent first
-- about: What the service sent that did not fit; it is kept raw in meta.rejects and is NULL in its column. An empty column means that whole records were refused. The sample is one of them, shortened.
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
