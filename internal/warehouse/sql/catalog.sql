-- Statements that create and read the tables of a catalog.

-- name: create_schemas
CREATE SCHEMA IF NOT EXISTS past;
CREATE SCHEMA IF NOT EXISTS history;
CREATE SCHEMA IF NOT EXISTS meta;
CREATE SCHEMA IF NOT EXISTS mart;

-- name: columns
SELECT schema_name || '.' || table_name, column_name,
    replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ'), NOT is_nullable, coalesce(comment, '')
FROM duckdb_columns()
WHERE database_name = {database};

-- name: create_table
CREATE OR REPLACE TABLE {schema}.{table} ({columns});

-- name: add_column
ALTER TABLE {schema}.{table} ADD COLUMN {column} {type};

-- name: comment_on_table
COMMENT ON TABLE {schema}.{table} IS {comment};

-- name: comment_on_column
COMMENT ON COLUMN {schema}.{table}.{column} IS {comment};

-- name: last_grade
-- The grade of a stream in the newest snapshot that has a grade of the stream. The third column is age_since
-- or, if age_since is NULL, the time of the snapshot.
SELECT grade, coalesce(reason, ''), coalesce(s.age_since, r.snapshot_at)
FROM meta.streams s JOIN meta.runs r USING (run_id)
WHERE s.stream = {stream} AND r.snapshot_at IS NOT NULL
ORDER BY r.snapshot_at DESC LIMIT 1;

-- name: rows_read_since
-- The oldest row of a stream was read at age_since or, if age_since is NULL, at the time of the snapshot.
-- The result is the latest of these times in snapshots with the grade exact, repaired, bounded or best_effort.
SELECT max(coalesce(s.age_since, r.snapshot_at))
FROM meta.streams s JOIN meta.runs r USING (run_id)
WHERE s.stream = {stream} AND s.grade IN ('exact', 'repaired', 'bounded', 'best_effort');

-- name: delete_statuses
DELETE FROM meta.statuses;

-- name: insert_statuses
INSERT INTO meta.statuses (prefix, state, waits_for, is_revision) VALUES {rows};

-- name: status_row
({prefix}, {state}, nullif({waits_for}, ''), {is_revision})
