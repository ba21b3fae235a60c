-- The changes of tonight, table by table, parents before children. Only the key and the
-- fingerprint of each row are read.

-- name: compare
-- is_new means that the row was added. gone means that the row was deleted: only rows in the scope
-- can be deleted. All other rows have new values.
CREATE TABLE {changed_keys} AS SELECT {keys}, f.row_hash IS NULL AS gone, m.row_hash IS NULL AS is_new
FROM {stored} m FULL JOIN {desired} f ON {same_key}
WHERE m.row_hash IS DISTINCT FROM f.row_hash AND (f.row_hash IS NOT NULL OR {scope})

-- name: compared_key
coalesce(m.{column}, f.{column}) AS {column}

-- name: compare_empty
-- In an empty table all rows are new.
CREATE TABLE {changed_keys} AS SELECT {key}, TRUE AS gone, TRUE AS is_new FROM {main} WHERE FALSE

-- name: scope_without_kept
-- The scope is a condition on rows m of main. The service deleted the rows that meet the condition and
-- were not staged. This is the scope of a proven list whose details are read one by one.
m.{param} NOT IN {kept}

-- name: scope_of_ids
m.{param} IN (SELECT id FROM {asked} WHERE outcome IN ({outcomes}))

-- name: scope_of_items
-- The items of records that were staged or deleted.
({parents}) IN (SELECT {key} FROM {desired} UNION ALL SELECT {key} FROM {changed_keys} WHERE gone)

-- name: scope_of_inner_items
({parents}) IN (SELECT {key} FROM {main} m WHERE {scope})

-- name: scope_of_joined_items
-- The items of records whose detail was read, whose row in the list has such items, or that were
-- deleted. A row of the list without such items does not prove the deletion of the items.
({parents}) IN (SELECT {key} FROM {detail}
    UNION ALL SELECT {key} FROM ({list_rows}) WHERE seq IN (SELECT seq FROM {list_items})
    UNION ALL SELECT {key} FROM {changed_keys} WHERE gone)

-- name: count_changes
SELECT {index}, count(*) FILTER (is_new), count(*) FILTER (NOT gone AND NOT is_new), count(*) FILTER (gone) FROM {changed_keys}

-- name: count_new
SELECT {index}, count(*), 0, 0 FROM {desired}

-- name: count_losses
-- Counts the rows and the deletions of one of the streams that fill a table.
SELECT (SELECT count(*) FROM {main} m WHERE {rows}), (SELECT count(*) FROM {changed_keys} m WHERE gone AND {rows})
