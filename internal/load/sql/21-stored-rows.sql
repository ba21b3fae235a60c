-- Of an unchanged record of a list, only the key is staged. The rows of the record are read from main.

-- name: create_unchanged
-- The keys of unchanged records, without duplicates. drop_changed then removes the keys of records that
-- were staged with changes in a later pass.
CREATE TABLE {unchanged} AS SELECT id, max(seq) AS seq FROM {staged_unchanged} GROUP BY id

-- name: find_outdated
-- A staged copy of a record is outdated if a later pass recognized the record as unchanged.
CREATE OR REPLACE TABLE stage.outdated AS
SELECT r.seq FROM {root} r JOIN {unchanged} u ON r.{key} = u.id AND u.seq > r.seq

-- name: drop_outdated
DELETE FROM {staged} WHERE seq IN (SELECT seq FROM stage.outdated)

-- name: drop_changed
DELETE FROM {unchanged} WHERE id IN (SELECT {key} FROM {root})

-- name: find_maybe_changed
-- The keys of the records in main that may have been changed or deleted. On most nights they are few, and
-- finding their rows is fast.
CREATE TABLE {maybe_changed} AS SELECT {key} AS id FROM {main} m ANTI JOIN {unchanged} u ON m.{key} = u.id

-- name: missing_records
-- The number of unchanged records that are not in main. It must be 0.
SELECT (SELECT count(*) FROM {unchanged}) + (SELECT count(*) FROM {maybe_changed}) - (SELECT count(*) FROM {main})

-- name: add_stored_rows
-- A view adds the stored rows of unchanged records to the staged rows.
ALTER TABLE {staged} RENAME TO {decoded_rows_name};
CREATE VIEW {staged} AS FROM {decoded_rows}
UNION ALL SELECT {columns}, m.row_hash, u.seq FROM {main} m JOIN {unchanged} u ON m.{record_key} = u.id

-- name: maybe_changed_rows
(SELECT m.* FROM {main} m SEMI JOIN {maybe_changed} d ON m.{record_key} = d.id)
