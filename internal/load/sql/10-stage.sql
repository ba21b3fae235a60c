-- The stage holds the rows of a night until they are merged. It is a DuckDB file of its
-- own: rows that are deleted again would leave holes in the catalog.

-- name: attach
-- Staged rows are read once, so that compressing them costs more than it saves. Nobody
-- recovers a stage, so that it needs no log.
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
-- The only form that is safe on a view over Arrow: a projection gives wrong columns, and
-- a filter is ignored.
INSERT INTO {table} SELECT * FROM {view}

-- name: drop_view
DROP VIEW {view}

-- name: thread_count
SELECT current_setting('threads')

-- name: set_threads
SET GLOBAL threads = {threads}

-- name: has_rows
SELECT EXISTS (FROM {table})

-- name: count_rows
SELECT count(*) FROM {table}

-- name: count_table
SELECT {name}, count(*) FROM {table}
