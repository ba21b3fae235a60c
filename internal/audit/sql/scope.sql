-- What the run of a snapshot read and changed.

-- name: grades
SELECT stream, grade FROM meta.streams WHERE run_id = {run};

-- name: changes
SELECT table_name, changed = 0 AS is_unchanged, changed * 10 < rows AS is_little_changed
FROM (
    SELECT table_name, rows, CAST(rows_new AS HUGEINT) + rows_changed + rows_gone AS changed
    FROM meta.tables
    WHERE run_id = {run}
);

-- name: tables_with_unknown_fields
SELECT DISTINCT table_name FROM meta.drift WHERE kind = 'unknown_field' AND last_run = {run};

-- name: rewritten_tables
-- The tables of which most rows changed in each of the last three nights.
SELECT table_name
FROM meta.tables
WHERE rows_changed > rows / 2 AND run_id IN (
    SELECT run_id
    FROM meta.runs
    WHERE snapshot_at <= (SELECT snapshot_at FROM meta.runs WHERE run_id = {run}) AND kind IS DISTINCT FROM 'refresh'
    ORDER BY snapshot_at DESC
    LIMIT 3
)
GROUP BY table_name
HAVING count(*) = 3;
