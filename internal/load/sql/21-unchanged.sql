-- The rows of an unchanged record of a list are not staged. They are read from main.

-- name: stored_hashes
SELECT rowid, {record_key}, row_hash, {position} FROM {main}

-- name: find_records
-- {listed} has the row ids of the records that were staged or were not read. The last copy of an outdated
-- record is unchanged, so its staged rows are deleted. The seq of an unchanged record is the same in all its
-- rows, and higher than that of any staged row. Few nights read the unchanged records, so they are a view.
CREATE TABLE {maybe_changed} AS SELECT m.{key} AS id FROM {main} m JOIN {listed} l ON m.rowid = l.row_id WHERE NOT l.is_unchanged;
CREATE TABLE {outdated} AS SELECT m.{key} AS id FROM {main} m JOIN {listed} l ON m.rowid = l.row_id WHERE l.is_unchanged;
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
