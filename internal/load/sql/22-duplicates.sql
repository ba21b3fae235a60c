-- Each pass over a list reads the records again. After the last pass, only the latest copy of each
-- record is kept.

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
-- All rows of one copy of a record have the same seq.
DELETE FROM {table} WHERE seq IN (SELECT seq FROM stage.duplicates)

-- name: drop_child_rows
-- Child rows of duplicates that have a lower seq than the kept row. {parent_key} is the key of the parent.
DELETE FROM {table} WHERE (seq, {parent_key}) IN (SELECT (seq, {key}) FROM stage.duplicates WHERE NOT same_record)

-- name: drop_repeated_child_rows
-- Runs after drop_child_rows. If an item occurs twice in one record, the table of the rows inside the item has two groups of rows, one
-- after the other. The last group is kept. It begins at the last row whose position is not higher than the
-- position of the row before it. This position can be higher than 1, because rejected rows are missing.
DELETE FROM {table} WHERE rowid IN (
    SELECT row_id FROM (
        SELECT *, rowid AS row_id, lag(position) OVER (PARTITION BY {parent_key} ORDER BY rowid) AS position_before FROM {table}
        WHERE ({parent_key}) IN (SELECT ({key}) FROM stage.duplicates WHERE same_record))
    QUALIFY row_id < max(row_id) FILTER (position <= position_before) OVER (PARTITION BY {parent_key}))

-- name: drop_duplicates
DELETE FROM {table} WHERE rowid IN (SELECT row_id FROM stage.duplicates)
