-- Fills main, past and meta from files, for rebuild and verify --repair.

-- name: columns_of
SELECT * FROM {source} LIMIT 0

-- name: snapshot_file
read_parquet({file}, hive_partitioning = false)

-- name: read_snapshot
-- The rows of a table in a snapshot. Columns that are newer than the file are NULL.
CREATE TEMP VIEW snapshot_rows AS SELECT {columns}, valid_from, {row_hash} AS row_hash FROM {source}

-- name: find_ending_rows
-- The rows of main that the snapshot changes or deletes. A changed row ends when its next row version
-- begins. A deleted row ends at the time of the snapshot. A row with other values and the same valid_from is the same
-- version: signatures of URLs and ignored columns change without a version.
CREATE TEMP TABLE ending_rows AS SELECT {stored_key}, coalesce(s.valid_from, {now}) AS valid_to
FROM {main} m
LEFT JOIN snapshot_rows s ON {same_key}
WHERE s.valid_from IS DISTINCT FROM m.valid_from

-- name: end_rows
INSERT INTO {past} ({columns}, valid_from, row_hash, valid_to, run_id)
SELECT {columns}, valid_from, row_hash, valid_to, {run} FROM {main} JOIN ending_rows USING ({key})

-- name: begin_rows
-- All rows, because ignored columns have new values in rows that did not change.
INSERT INTO {main} ({columns}, valid_from, row_hash) SELECT {columns}, valid_from, row_hash FROM snapshot_rows

-- name: drop_snapshot
DROP VIEW snapshot_rows;
DROP TABLE ending_rows

-- name: set_closing_run
-- Sets the run that closed each row. This run may be a night whose Parquet files were not kept.
UPDATE {past} p SET run_id = r.run_id FROM meta.runs r WHERE r.snapshot_at = p.valid_to AND r.run_id <> p.run_id

-- name: keep_newest
-- Keeps the current rows. fill_from_history then computes a table of an earlier snapshot from
-- them and past.
CREATE TABLE IF NOT EXISTS {newest} AS SELECT * FROM {main}

-- name: fill_from_history
INSERT INTO {main} ({columns}, valid_from, row_hash)
SELECT {columns}, valid_from, row_hash FROM {newest} WHERE valid_from <= {at}
UNION ALL SELECT {columns}, valid_from, row_hash FROM {past} WHERE valid_from <= {at} AND valid_to > {at}

-- name: meta_files
-- The files of changes of a chain of versions. The rows of meta are the added rows in these files minus
-- the removed rows.
read_parquet([{files}], union_by_name = true, hive_partitioning = false)

-- name: restore_meta
INSERT INTO {table} ({columns})
SELECT {values} FROM {files} WHERE meta_table = {name} AND NOT meta_gone
EXCEPT ALL SELECT {values} FROM {files} WHERE meta_table = {name} AND meta_gone

-- name: past_tables
-- The tables of past with rows in the files of changes.
SELECT DISTINCT meta_table FROM {files} WHERE starts_with(meta_table, {prefix})

-- name: create_past_from_files
CREATE TEMP TABLE past_from_files AS SELECT * FROM (SELECT {values} FROM {files} WHERE meta_table = {name}) WHERE valid_to <= {until}

-- name: past_value
CAST(past_row[{column}] AS {type}) AS {name}

-- name: insert_past
INSERT INTO {past} ({columns}) SELECT {columns} FROM past_from_files

-- name: drop_known_past
-- The rows in past_from_files replace the same row versions in past, because their ends are exact.
DELETE FROM {past} p USING past_from_files r WHERE {same_version}

-- name: end_at_next
-- No row version may end after the next row version of the same key begins. A row version can be in past and in
-- main, until drop_closed removes it from main.
UPDATE {past} p SET valid_to = n.next_from FROM (
    SELECT {key}, valid_from, lead(valid_from) OVER (PARTITION BY {key} ORDER BY valid_from) AS next_from
    FROM (SELECT {key}, valid_from FROM {past} UNION SELECT {key}, valid_from FROM {main})) n
WHERE {same_version} AND p.valid_to > n.next_from

-- name: drop_past_from_files
DROP TABLE past_from_files

-- name: typed_value
CAST({column} AS {type})

-- name: common_columns
-- The columns that both catalogs have.
SELECT schema_name, table_name, column_name
FROM duckdb_columns() a JOIN duckdb_columns() b USING (schema_name, table_name, column_name)
WHERE schema_name = {schema} AND a.database_name = current_database() AND b.database_name = 'other'

-- name: copy_rows
INSERT INTO {table} ({columns}) SELECT {columns} FROM {other} WHERE {condition}

-- name: closed_until
valid_to <= {until}

-- name: carry_streams
UPDATE meta.streams SET grade = 'carried_forward', reason = {reason}, rows_old = rows, age_since = least(age_since, {since})
WHERE run_id = {run} AND stream IN ({streams})

-- name: forget_details
-- Without its row, the next night requests a detail again.
DELETE FROM meta.details WHERE stream IN ({streams}) AND read_at > {after}

-- name: drop_closed
-- If a table was read from an earlier snapshot, later runs closed some of its rows. past already contains
-- these rows.
DELETE FROM {main} m USING {past} p WHERE {same_version}

-- name: last_snapshots
-- The last snapshot of each day. Runs that were rolled back are in meta.runs, but not in meta.tables.
SELECT run_id, snapshot_at FROM meta.runs SEMI JOIN meta.tables USING (run_id)
WHERE outcome IN ('complete', 'partial') AND snapshot_at <= {until} AND coalesce(kind, 'night') NOT IN ('rollback', 'rebuild')
QUALIFY row_number() OVER (PARTITION BY snapshot_at::DATE ORDER BY snapshot_at DESC, run_id DESC) = 1

-- name: row_counts
SELECT table_name, rows FROM meta.tables WHERE run_id = {run} AND rows IS NOT NULL

-- name: grades
SELECT stream, grade, coalesce(reason, '') FROM meta.streams WHERE run_id = {run} AND grade IS NOT NULL
