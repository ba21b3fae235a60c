-- Each pass over a list reads the records again. After the last pass, only the latest copy of each
-- record is kept.

-- name: delete_all
DELETE FROM {table}

-- name: has_duplicates
-- Compares the number of rows with the number of different hashes of keys. If two keys have the same
-- hash, the search for duplicates is needless and finds no row.
SELECT count(*) > count(DISTINCT hash({key})) FROM {table}

-- name: find_duplicates
-- alongside means that the duplicate and the kept item are in the same record.
CREATE OR REPLACE TABLE stage.stale AS
SELECT rowid AS place, seq, {key}, seq = max(seq) OVER (PARTITION BY {key}) AS alongside FROM {table}
WHERE ({key}) IN (SELECT ({key}) FROM {table} GROUP BY ALL HAVING count(*) > 1)
QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY seq DESC, rowid DESC) > 1

-- name: drop_rows_of_duplicates
-- The rows of a record share its seq.
DELETE FROM {table} WHERE seq IN (SELECT seq FROM stage.stale)

-- name: drop_rows_of_items
-- The rows of an item also have its key.
DELETE FROM {table} WHERE (seq, {item}) IN (SELECT (seq, {key}) FROM stage.stale WHERE NOT alongside)

-- name: drop_rows_alongside
-- If an item is twice in one record, the inner table has two groups of rows for it, one after the
-- other. The last group is kept. It begins at the last row with position 1.
DELETE FROM {table} WHERE rowid IN (
    SELECT place FROM (
        SELECT rowid AS place, max(rowid) FILTER (position = 1) OVER (PARTITION BY seq, {item}) AS last FROM {table}
        WHERE (seq, {item}) IN (SELECT (seq, {key}) FROM stage.stale WHERE alongside))
    WHERE place < last)

-- name: drop_duplicates
DELETE FROM {table} WHERE rowid IN (SELECT place FROM stage.stale)
