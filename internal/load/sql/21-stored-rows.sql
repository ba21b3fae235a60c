-- What main holds of a list, so that records that did not change are not staged.

-- name: create_unchanged
-- Once the list is read: the records that were left out, each once, without those of
-- which a later copy was staged.
CREATE TABLE {unchanged} AS SELECT id, max(seq) AS seq FROM {same} GROUP BY id

-- name: view_unchanged
-- Where no record came twice, there is nothing to decide.
CREATE VIEW {unchanged} AS SELECT id, seq FROM {same}

-- name: find_outdated
CREATE OR REPLACE TABLE stage.stale AS
SELECT r.seq FROM {root} r JOIN {unchanged} u ON r.{key} = u.id AND u.seq > r.seq

-- name: drop_outdated
DELETE FROM {staged} WHERE seq IN (SELECT seq FROM stage.stale)

-- name: drop_changed
DELETE FROM {unchanged} WHERE id IN (SELECT {key} FROM {root})

-- name: create_doubtful
-- The records of main that may have changed: few, so that finding their rows is cheap.
CREATE TABLE {doubtful} AS SELECT {key} AS id FROM {main} m ANTI JOIN {unchanged} u ON m.{key} = u.id

-- name: lost_records
SELECT (SELECT count(*) FROM {unchanged}) + (SELECT count(*) FROM {doubtful}) - (SELECT count(*) FROM {main})

-- name: add_stored_rows
-- A view adds the rows of main that were left out to those that were staged.
ALTER TABLE {staged} RENAME TO {read_name};
CREATE VIEW {staged} AS FROM {read}
UNION ALL SELECT {columns}, m.row_hash, u.seq FROM {main} m JOIN {unchanged} u ON m.{record_key} = u.id

-- name: doubtful_rows
(SELECT m.* FROM {main} m SEMI JOIN {doubtful} d ON m.{record_key} = d.id)
