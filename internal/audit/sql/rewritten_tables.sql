-- The tables of which most rows changed in each of the last three nights up to a run.
SELECT table_name
FROM meta.tables
WHERE rows_changed > rows / 2 AND run_id IN (
    SELECT run_id
    FROM meta.runs
    WHERE snapshot_at <= (SELECT snapshot_at FROM meta.runs WHERE run_id = $run) AND kind IS DISTINCT FROM 'refresh'
    ORDER BY snapshot_at DESC
    LIMIT 3
)
GROUP BY table_name
HAVING count(*) = 3;
