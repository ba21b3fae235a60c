-- What every page of a record asks. {table} is a table of main, {key} the column that
-- names the record, {columns} are the table's columns.

-- name: versions
-- The newest versions of one record, oldest first.
SELECT * FROM (SELECT {columns}, valid_from, valid_to FROM history.{table} WHERE {key} = $id ORDER BY valid_from DESC LIMIT {most})
ORDER BY valid_from;

-- name: columns
-- What the columns of a table mean. Keys and times of versions are no fields.
SELECT column_name, coalesce(comment, '') AS comment
FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $table
    AND column_name NOT IN ('valid_from', 'valid_to', 'row_hash')
ORDER BY column_index;

-- name: vanished
-- Why a record is no longer there.
SELECT r.snapshot_at, d.evidence
FROM meta.deletions AS d
JOIN meta.runs AS r USING (run_id)
WHERE d.table_name = $table AND d."key" = $id
ORDER BY r.snapshot_at DESC LIMIT 1;

-- name: rejects
-- What did not fit a column in any run, and so is missing above.
SELECT r.snapshot_at AS read_at, j.table_name AS "table", j.column_name AS "column", j.raw AS "as sent", j.reason
FROM meta.rejects AS j
JOIN meta.runs AS r USING (run_id)
WHERE j."key" = $id AND list_contains(string_split($tables, ','), j.table_name)
ORDER BY r.snapshot_at DESC, j.seq;

-- name: begin
-- When the history begins: before its first snapshot nothing is known.
SELECT min(snapshot_at) AS first_at FROM meta.runs WHERE snapshot_at IS NOT NULL;

-- name: snapshots
-- All snapshots, the newest first.
SELECT run_id, snapshot_at FROM {database}.meta.runs WHERE snapshot_at IS NOT NULL ORDER BY snapshot_at DESC, run_id DESC LIMIT {most};
