-- When a stream is read, of every record the copy that came last stays: passes over a
-- list overlap on purpose.

-- name: delete_all
DELETE FROM {table}

-- name: has_copies
-- Two keys with one hash cause a search in vain, no more.
SELECT count(*) > count(DISTINCT hash({key})) FROM {table}

-- name: find_copies
-- alongside: the copy stands in the same record as the one that stays.
CREATE OR REPLACE TABLE stage.stale AS
SELECT rowid AS place, seq, {key}, seq = max(seq) OVER (PARTITION BY {key}) AS alongside FROM {table}
WHERE ({key}) IN (SELECT ({key}) FROM {table} GROUP BY ALL HAVING count(*) > 1)
QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY seq DESC, rowid DESC) > 1

-- name: drop_rows_of_copies
-- Rows inside a record share its seq.
DELETE FROM {table} WHERE seq IN (SELECT seq FROM stage.stale)

-- name: drop_rows_of_items
-- Rows inside an item have the key of the item as well.
DELETE FROM {table} WHERE (seq, {item}) IN (SELECT (seq, {key}) FROM stage.stale WHERE NOT alongside)

-- name: drop_rows_alongside
-- Copies of an item in one record have their rows one after the other: those of the last
-- copy begin where the positions begin anew for the last time.
DELETE FROM {table} WHERE rowid IN (
    SELECT place FROM (
        SELECT rowid AS place, max(rowid) FILTER (position = 1) OVER (PARTITION BY seq, {item}) AS last FROM {table}
        WHERE (seq, {item}) IN (SELECT (seq, {key}) FROM stage.stale WHERE alongside))
    WHERE place < last)

-- name: drop_copies
DELETE FROM {table} WHERE rowid IN (SELECT place FROM stage.stale)
