-- The stage contains the rows of a night until they are merged. It is a separate DuckDB file,
-- because staged rows that are deleted from the catalog would leave unused blocks.
--
-- If the tables of a large list are empty in main, its rows are inserted into main without staging
-- tables. Until the merge, these tables of main have the column seq. Of several copies of a record, the
-- latest has the highest seq.
--
-- After the last response of a list, its staged rows are finished in three steps:
-- 1. Each pass over a list reads the records again. Only the latest copy of each record is kept.
-- 2. The rows of an unchanged record of a list are not staged. They are read from main.
-- 3. The rows of a child table are numbered by their position. If a list comes in another order, its items keep
--    the positions that they have in main. Here l is a staged row, and m a stored row.

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

-- name: count_cases
-- A UUID is one id in upper and in lower case. The ids of a night are written in the case of most stored ids.
-- This counts the ids with upper and with lower case letters in a part of a table.
SELECT {table}, count(*) FILTER (id <> lower(id)), count(*) FILTER (id <> upper(id)) FROM (SELECT {column} AS id FROM {main} LIMIT 1000)
WHERE regexp_full_match(id, {uuid})

-- name: rewrite_ids
-- An id that is stored in both cases stays, because it is two rows. The row that is not read again is deleted by the night.
UPDATE {table} SET {column} = {function}({column}) WHERE {column} <> {function}({column}) AND regexp_full_match({column}, {uuid}) AND lower({column}) IN (
    SELECT lower({column}) FROM {table} GROUP BY 1 HAVING count(DISTINCT {column}) = 1)

-- name: delete_all
DELETE FROM {table}

-- name: has_duplicates
-- Compares the number of rows with the number of different hashes of keys. Two different keys can have
-- the same hash. The result is then true, and find_duplicates finds no row.
SELECT count(*) > count(DISTINCT hash({key})) FROM {table}

-- name: find_duplicates
-- same_record means that the duplicate and the kept row are in the same copy of a record: an item occurs
-- twice in one record.
CREATE OR REPLACE TABLE stage.duplicates AS
SELECT rowid AS row_id, seq, {key}, seq = max(seq) OVER (PARTITION BY {key}) AS same_record FROM {table}
WHERE ({key}) IN (SELECT ({key}) FROM {table} GROUP BY ALL HAVING count(*) > 1)
QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY seq DESC, rowid DESC) > 1

-- name: drop_deeper_rows
-- The rows inside child rows of duplicates. All rows of one copy of a record have the same seq.
DELETE FROM {table} WHERE seq IN (SELECT seq FROM stage.duplicates)

-- name: drop_child_rows
-- Child rows of duplicates that have a lower seq than the kept row. {parent_key} is the key of the parent.
DELETE FROM {table} WHERE (seq, {parent_key}) IN (SELECT (seq, {key}) FROM stage.duplicates WHERE NOT same_record)

-- name: drop_repeated_child_rows
-- Runs after drop_child_rows. If an item occurs twice in one record, the table of the rows inside the item has two
-- groups of rows, one after the other. The last group is kept. It begins at the last row whose position is not higher than the
-- position of the row before it. This position can be higher than 1, because rejected rows are missing.
DELETE FROM {table} WHERE rowid IN (
    SELECT row_id FROM (
        SELECT *, rowid AS row_id, lag(position) OVER (PARTITION BY {parent_key} ORDER BY rowid) AS position_before FROM {table}
        WHERE ({parent_key}) IN (SELECT ({key}) FROM stage.duplicates WHERE same_record))
    QUALIFY row_id < max(row_id) FILTER (position <= position_before) OVER (PARTITION BY {parent_key}))

-- name: drop_duplicates
DELETE FROM {table} WHERE rowid IN (SELECT row_id FROM stage.duplicates)

-- name: stored_hashes
SELECT rowid, {record_key}, row_hash, {position} FROM {main}

-- name: find_records
-- {exceptions} contains the row ids of the stored records with a changed copy or without a copy. is_unchanged means
-- that the last copy of a record is unchanged. The staged rows of such a record are outdated, and are deleted. The seq
-- of an unchanged record is the same in all its rows, and higher than that of any staged row. Few nights read the
-- unchanged records, so they are a view.
CREATE TABLE {maybe_changed} AS SELECT m.{key} AS id FROM {main} m JOIN {exceptions} e ON m.rowid = e.row_id WHERE NOT e.is_unchanged;
CREATE TABLE {outdated} AS SELECT m.{key} AS id FROM {main} m JOIN {exceptions} e ON m.rowid = e.row_id WHERE e.is_unchanged;
CREATE VIEW {unchanged} AS SELECT m.{key} AS id, m.rowid::UBIGINT + 9223372036854775808 AS seq
FROM {main} m ANTI JOIN {maybe_changed} c ON m.{key} = c.id

-- name: add_stored_rows
-- A view adds the stored rows of unchanged records to the staged rows.
DELETE FROM {staged} WHERE {record_key} IN (SELECT id FROM {outdated});
ALTER TABLE {staged} RENAME TO {decoded_rows_name};
CREATE VIEW {staged} AS FROM {decoded_rows}
UNION ALL SELECT {columns}, m.row_hash, u.seq FROM {main} m JOIN {unchanged} u ON m.{record_key} = u.id;
-- The stored rows of the records that may be changed are few, and are read several times.
CREATE TABLE {maybe_changed_rows} AS SELECT {compared_columns} FROM {main} m SEMI JOIN {maybe_changed} c ON m.{record_key} = c.id

-- name: find_reordered
-- The lists with a staged row that is not the same item as the stored row at its position.
CREATE OR REPLACE TABLE {reordered} AS SELECT DISTINCT {parents} FROM {staged} l ANTI JOIN {stored} m ON {same_item}

-- name: same_row
{same_key} AND l.row_hash = m.row_hash

-- name: find_known
-- The stored items of these lists, and the last version at each position that was used before. The position
-- of an item that is gone belongs to it, in case it comes back.
CREATE OR REPLACE TABLE {positions} (row_id BIGINT, position BIGINT, row_hash UBIGINT);
CREATE OR REPLACE TABLE {known} AS
SELECT {parents}, position, {item_hash} AS item_hash, {first_key} AS first_key, {second_key} AS second_key, FALSE AS is_past
FROM {stored} m SEMI JOIN {reordered} USING ({parents})
UNION ALL (
    SELECT {parents}, position, {item_hash}, {first_key}, {second_key}, TRUE FROM {past} m SEMI JOIN {reordered} USING ({parents})
    QUALIFY row_number() OVER (PARTITION BY {parents}, position ORDER BY valid_to DESC) = 1)

-- name: read_items
-- The staged and the known items, list by list. A list without known items keeps its positions.
SELECT to_json([{parent_texts}])::VARCHAR, is_known, is_past, row_id, position, row_hash, item_hash, first_key, second_key FROM (
    SELECT {parents}, FALSE AS is_known, FALSE AS is_past, l.rowid AS row_id, position, row_hash, {item_hash} AS item_hash,
        {first_key} AS first_key, {second_key} AS second_key
    FROM {staged} l SEMI JOIN {known} USING ({parents})
    UNION ALL SELECT {parents}, TRUE, is_past, 0, position, 0::UBIGINT, item_hash, first_key, second_key FROM {known})
ORDER BY {parents}, is_known, is_past, position

-- name: item_key
-- NULL if the item has no value in any of the columns.
CASE WHEN {has_value} THEN hash({columns}) END

-- name: no_key
NULL::UBIGINT

-- name: has_value
{column} IS NOT NULL

-- name: item_hash
hash({values})

-- name: value_text
{column}::VARCHAR

-- name: set_inner_positions
-- The rows inside the items name the position of their item.
UPDATE {inner} AS i SET {column} = p.position FROM {positions} p JOIN {staged} l ON l.rowid = p.row_id WHERE {same_item}

-- name: set_positions
UPDATE {staged} AS l SET position = p.position, row_hash = p.row_hash FROM {positions} p WHERE l.rowid = p.row_id
