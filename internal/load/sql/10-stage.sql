-- The stage contains the rows of a night until they are merged. It is a separate DuckDB file,
-- because staged rows that are deleted from the catalog would leave unused blocks.
--
-- If the tables of a large list are empty in main, its rows are inserted into main without staging
-- tables. Until the merge, these tables of main have the column seq. Of several copies of a record, the
-- latest has the highest seq.

-- name: attach
-- Staged rows are read once, so compressing them would cost more time than it saves. A stage is never
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

-- name: create_details
-- The empty plan exists until a plan is computed.
CREATE TABLE {requested} (id VARCHAR, outcome VARCHAR);
CREATE TABLE {plan} (id VARCHAR, fingerprint VARCHAR, why VARCHAR, read_at TIMESTAMPTZ, overdue BOOLEAN, unread BOOLEAN, keeps_rows BOOLEAN)

-- name: create_findings
-- A record with drift is found again in each pass over a list, and in its detail. Therefore records with
-- drift are staged, and counted at the end of the night. They could be too many for the program's memory.
CREATE TABLE stage.rejects (table_name VARCHAR, key VARCHAR, parent VARCHAR, column_name VARCHAR, raw VARCHAR, reason VARCHAR,
    stream VARCHAR, pass BIGINT, page BIGINT, position BIGINT, response_hash UBIGINT, seq UBIGINT);
CREATE TABLE stage.drift (drift_index BIGINT, table_name VARCHAR, path VARCHAR, kind VARCHAR, sample VARCHAR, key VARCHAR);
CREATE TABLE stage.drift_records (drift_index BIGINT, record UBIGINT);
CREATE TABLE stage.events (event_id VARCHAR, topic VARCHAR, source VARCHAR, sent_at VARCHAR, received_at BIGINT, outcome VARCHAR,
    body VARCHAR, body_sha256 VARCHAR, seq UBIGINT)

-- name: insert_batch
-- The view contains Arrow batches. It is read with SELECT * and without a filter: on a view of Arrow
-- batches, DuckDB returns wrong columns for a list of columns, and ignores filters.
INSERT INTO {table} SELECT * FROM {view}

-- name: drop_view
DROP VIEW {view}

-- name: commit_batches
DROP VIEW IF EXISTS {view};
COMMIT

-- name: set_threads
SET GLOBAL threads = {threads}

-- name: has_rows
SELECT EXISTS (FROM {table})

-- name: count_table
SELECT {name}, count(*) FROM {table}

-- name: begin_direct
ALTER TABLE {table} ADD COLUMN seq UBIGINT;
DROP TABLE {staged}

-- name: direct_view
-- Shows the rows of the table under the name of the staging table.
CREATE OR REPLACE VIEW {staged} AS SELECT {columns}, row_hash, {seq} FROM {table}

-- name: insert_direct
INSERT INTO {table} BY NAME SELECT *, {now} AS valid_from FROM {view}

-- name: end_direct
ALTER TABLE {table} DROP COLUMN seq
