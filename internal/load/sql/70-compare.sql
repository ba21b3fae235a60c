-- What changes tonight, table by table, parents before children. No column but the key
-- and the fingerprint is read.

-- name: compare
-- fresh: the row is new; gone: it vanished; neither: it changed. A row that was not seen
-- is gone only within the scope.
CREATE TABLE {closing} AS SELECT {keys}, f.row_hash IS NULL AS gone, m.row_hash IS NULL AS fresh
FROM {stored} m FULL JOIN {seen} f ON {same_key}
WHERE m.row_hash IS DISTINCT FROM f.row_hash AND (f.row_hash IS NOT NULL OR {scope})

-- name: compared_key
coalesce(m.{column}, f.{column}) AS {column}

-- name: compare_empty
-- In an empty table all is new.
CREATE TABLE {closing} AS SELECT {key}, TRUE AS gone, TRUE AS fresh FROM {main} WHERE FALSE

-- name: scope_without_kept
-- The scope says of rows m of main: if this row is not staged, it is gone. Here: a proven
-- list whose details are read one by one.
m.{param} NOT IN {kept}

-- name: scope_of_ids
m.{param} IN (SELECT id FROM {asked} WHERE outcome IN ({outcomes}))

-- name: scope_of_items
-- Rows under records that were staged or are gone.
({parents}) IN (SELECT {key} FROM {fresh} UNION ALL SELECT {key} FROM {closing} WHERE gone)

-- name: scope_of_inner_items
({parents}) IN (SELECT {key} FROM {main} m WHERE {scope})

-- name: scope_of_united_items
-- Records whose detail was read, whose row in the list has such items, or that are gone.
-- A list that leaves out these items says nothing of them.
({parents}) IN (SELECT {key} FROM {detail}
    UNION ALL SELECT {key} FROM ({list_rows}) WHERE seq IN (SELECT seq FROM {list_items})
    UNION ALL SELECT {key} FROM {closing} WHERE gone)

-- name: count_changes
SELECT {index}, count(*) FILTER (fresh), count(*) FILTER (NOT gone AND NOT fresh), count(*) FILTER (gone) FROM {closing}

-- name: count_new
SELECT {index}, count(*), 0, 0 FROM {fresh}

-- name: count_losses
-- Of the rows of one stream, where several fill a table.
SELECT (SELECT count(*) FROM {main} m WHERE {rows}), (SELECT count(*) FROM {closing} m WHERE gone AND {rows})
