-- The stage contains the rows of a night until they are merged. It is a separate DuckDB file,
-- because deleted rows would leave unused blocks in the catalog.

-- name: attach
-- Staged rows are read once, so compressing them costs more than it saves. A stage is never
-- recovered, so it needs no write-ahead log.
ATTACH {file} AS stage (RECOVERY_MODE NO_WAL_WRITES);
SET GLOBAL force_compression = 'uncompressed'

-- name: attach_read_only
ATTACH {file} AS {catalog} (READ_ONLY)

-- name: detach
DETACH {catalog}

-- name: create_schema
CREATE SCHEMA {schema}

-- name: create_table
CREATE TABLE {table} ({columns})

-- name: insert_batch
-- The view contains Arrow batches. It is read with SELECT * and without a filter, because DuckDB
-- returns wrong columns for a list of columns of such a view and ignores filters.
INSERT INTO {table} SELECT * FROM {view}

-- name: drop_view
DROP VIEW {view}

-- name: thread_count
SELECT current_setting('threads')

-- name: set_threads
SET GLOBAL threads = {threads}

-- name: has_rows
SELECT EXISTS (FROM {table})

-- name: count_table
SELECT {name}, count(*) FROM {table}
