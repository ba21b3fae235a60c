-- Statements for several pages. {table} is a table of main. {key} is the column of {table} with the id
-- of the record. {columns} are the columns of {table}. {database} is the database with all runs. {most}
-- is the maximum number of rows.

-- name: facts
-- The snapshot and the grades of its streams, the worst grade first.
SELECT n.run_id, n.snapshot_at, r.outcome, s.grade, s.reason
FROM mart.snapshot AS n
LEFT JOIN meta.runs AS r ON r.run_id = n.run_id AND r.snapshot_at = n.snapshot_at
LEFT JOIN meta.streams AS s ON s.run_id = n.run_id
ORDER BY coalesce(list_position(['skipped', 'carried_forward', 'best_effort', 'bounded', 'repaired', 'exact'], s.grade), 0);

-- name: versions
-- The newest row versions of one record. The oldest of them is first.
SELECT * FROM (SELECT {columns}, valid_from, valid_to FROM history.{table} WHERE {key} = {id} ORDER BY valid_from DESC LIMIT {most})
ORDER BY valid_from;

-- name: columns
-- The columns of a table with their comments, without valid_from, valid_to and row_hash.
SELECT column_name, coalesce(comment, '') AS comment
FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = 'main' AND table_name = {table}
    AND column_name NOT IN ('valid_from', 'valid_to', 'row_hash')
ORDER BY column_index;

-- name: vanished
-- The reason why a record counts as deleted.
SELECT r.snapshot_at, d.evidence
FROM meta.deletions AS d
JOIN meta.runs AS r USING (run_id)
WHERE d.table_name = {table} AND d."key" = {id}
ORDER BY r.snapshot_at DESC LIMIT 1;

-- name: rejects
-- The values of one record that did not fit their columns, from all runs.
SELECT r.snapshot_at AS read_at, j.table_name AS "table", j.column_name AS "column", j.raw AS "as sent", j.reason
FROM meta.rejects AS j
JOIN meta.runs AS r USING (run_id)
WHERE j."key" = {id} AND j.table_name IN ({tables})
ORDER BY r.snapshot_at DESC, j.seq;

-- name: first_snapshot
SELECT min(snapshot_at) AS first_at FROM meta.runs;

-- name: snapshots
-- The newest snapshots, in descending order.
SELECT run_id, snapshot_at FROM {database}.meta.runs WHERE snapshot_at IS NOT NULL ORDER BY snapshot_at DESC, run_id DESC LIMIT {most};

-- name: names_of_records
-- The newest name of each record of a table with one of the ids.
SELECT id, arg_max({column}, valid_from) AS name
FROM history.{table}
WHERE id IN ({ids})
GROUP BY id;

-- name: names_of_outlets
SELECT outlet_id AS id, outlet_name AS name FROM mart.outlet_names WHERE outlet_id IN ({ids});

-- name: outlet_names_of_listings
SELECT l.id, n.outlet_name AS name
FROM main.product_listings AS l
JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
WHERE l.id IN ({ids});
