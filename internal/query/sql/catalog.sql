-- Statements about the snapshots, the grades and the definitions of a catalog.

-- name: grades
-- The last grade of each stream, with the times at which the stream was last read and last proven.
WITH published AS (
    SELECT run_id, snapshot_at FROM {catalog}.meta.runs WHERE snapshot_at IS NOT NULL
),
readings AS (
    SELECT
        s.stream,
        max(p.snapshot_at) FILTER (s.grade IN ('exact', 'repaired', 'bounded', 'best_effort')) AS read_at,
        max(CASE WHEN s.grade = 'bounded' THEN s.age_since ELSE p.snapshot_at END)
            FILTER (s.grade IN ('exact', 'repaired', 'bounded')) AS proven_at
    FROM {catalog}.meta.streams AS s
    JOIN published AS p USING (run_id)
    GROUP BY s.stream
)
SELECT s.stream, coalesce(s.grade, ''), coalesce(s.reason, ''), s.age_since, r.read_at, r.proven_at
FROM {catalog}.meta.streams AS s
JOIN readings AS r USING (stream)
WHERE s.run_id = (SELECT run_id FROM published ORDER BY snapshot_at DESC, run_id DESC LIMIT 1)

-- name: failed_checks
SELECT check_name AS "check", run_id AS run, severity, outcome, rows, reason, sample
FROM (
    SELECT c.*, r.snapshot_at
    FROM meta.checks AS c
    JOIN meta.runs AS r USING (run_id)
    WHERE r.snapshot_at IS NOT NULL AND c.outcome <> 'skipped' AND c.check_name IN (
        SELECT check_name
        FROM meta.checks
        WHERE run_id = (SELECT arg_max(run_id, snapshot_at) FROM meta.runs WHERE snapshot_at IS NOT NULL))
    QUALIFY row_number() OVER (PARTITION BY c.check_name ORDER BY r.snapshot_at DESC) = 1
)
WHERE outcome IN ('failed', 'not run')
ORDER BY severity, check_name

-- name: snapshots
SELECT run_id, snapshot_at FROM {database}.meta.runs WHERE snapshot_at IS NOT NULL ORDER BY snapshot_at, run_id

-- name: stored_tables
SELECT schema_name, table_name, list(c.column_name ORDER BY c.column_index)
FROM duckdb_columns() AS c
JOIN duckdb_tables() AS t USING (database_name, schema_name, table_name)
WHERE database_name = {database}
GROUP BY ALL
ORDER BY ALL

-- name: exported_columns
-- The quoted columns of each table and view.
SELECT schema_name, table_name, string_agg('"' || replace(column_name, '"', '""') || '"', ', ' ORDER BY column_index)
FROM duckdb_columns()
WHERE database_name = {database} AND NOT internal AND column_name <> 'row_hash'
GROUP BY ALL

-- name: rows_at
-- The rows that a table had at a snapshot.
SELECT {columns} FROM {main} WHERE valid_from <= {at}
UNION ALL
SELECT {columns} FROM {past} WHERE valid_from <= {at} AND valid_to > {at}

-- name: rows_closed_until
SELECT {columns} FROM {past} WHERE valid_to <= {at}

-- name: rows_of_runs
SELECT {columns} FROM {table} WHERE {run} IN (SELECT run_id FROM {database}.meta.runs WHERE snapshot_at <= {at})

-- name: definitions
-- The statements that create the views and the macros of a database. They name no database, so they refer to
-- the current one.
SELECT sql FROM duckdb_views() WHERE database_name = {database} AND NOT internal
UNION ALL
SELECT concat('CREATE MACRO "', replace(schema_name, '"', '""'), '"."', replace(function_name, '"', '""'), '"(', array_to_string(parameters, ', '), ') AS ',
    CASE function_type WHEN 'table_macro' THEN 'TABLE ' ELSE '' END, macro_definition)
FROM duckdb_functions()
WHERE database_name = {database} AND NOT internal AND function_type IN ('macro', 'table_macro')
