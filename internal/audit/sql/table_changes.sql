-- How many rows of each table a run changed.
SELECT table_name, changed = 0 AS is_unchanged, changed * 10 < rows AS is_little_changed
FROM (
    SELECT table_name, rows, CAST(rows_new AS HUGEINT) + rows_changed + rows_gone AS changed
    FROM meta.tables
    WHERE run_id = $run
);
