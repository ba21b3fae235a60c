-- The changes of tonight, table by table, parents before children. Only the key and the fingerprint of
-- each row are read. m is a row of main, and f is a desired row.

-- name: compare
-- Creates the table of the keys that are new (is_new), deleted (gone) or have new values (neither). scope
-- is a condition on a row m of main. If no desired row has the key of a row m in the scope, the row m counts
-- as deleted. A row outside the scope is kept.
CREATE TABLE {changed_keys} AS SELECT {keys}, f.row_hash IS NULL AS gone, m.row_hash IS NULL AS is_new
FROM {stored} m FULL JOIN {desired} f ON {same_key}
WHERE m.row_hash IS DISTINCT FROM f.row_hash AND (f.row_hash IS NOT NULL OR {scope})

-- name: compared_key
coalesce(m.{column}, f.{column}) AS {column}

-- name: compare_empty
-- If the table is empty in main, all desired rows are new and are not listed. Creates the table of
-- changed keys without rows.
CREATE TABLE {changed_keys} AS SELECT {key}, TRUE AS gone, TRUE AS is_new FROM {main} WHERE FALSE

-- name: scope_of_not_kept
-- The scope of a proven list that a detail stream completes: all rows except those of kept details.
m.{param} NOT IN {kept}

-- name: scope_of_ids
-- The rows of the ids whose request had one of the outcomes.
m.{param} IN (SELECT id FROM {requested} WHERE outcome IN ({outcomes}))

-- name: scope_of_child_rows
-- The child rows of records that were staged or deleted.
({parents}) IN (SELECT {key} FROM {desired} UNION ALL SELECT {key} FROM {changed_keys} WHERE gone)

-- name: scope_of_inner_child_rows
-- The rows inside the rows of another child table, whose scope is given.
({parents}) IN (SELECT {key} FROM {main} m WHERE {scope})

-- name: scope_of_joined_child_rows
-- The child rows of a record if the detail was read, if the row of the list has rows in this child table, or if
-- the record was deleted. A row of the list without child rows does not prove that they were deleted.
({parents}) IN (SELECT {key} FROM {detail}
    UNION ALL SELECT {key} FROM ({list_rows}) WHERE seq IN (SELECT seq FROM {list_child_rows})
    UNION ALL SELECT {key} FROM {changed_keys} WHERE gone)

-- name: count_changes
SELECT {index}, count(*) FILTER (is_new), count(*) FILTER (NOT gone AND NOT is_new), count(*) FILTER (gone) FROM {changed_keys}

-- name: count_new
SELECT {index}, count(*), 0, 0 FROM {desired}

-- name: count_losses
-- Counts the rows and the deletions of one of the streams that fill a table.
SELECT (SELECT count(*) FROM {main} m WHERE {stream_condition}), (SELECT count(*) FROM {changed_keys} m WHERE gone AND {stream_condition})

-- name: find_maybe_equal
-- The changed rows with a difference in a column whose values can be equal although their texts differ. c is a
-- changed key.
CREATE OR REPLACE TABLE {maybe_equal} AS SELECT c.rowid AS row_id, {key} FROM {changed_keys} c
JOIN {stored} m ON {same_stored} JOIN {desired} f ON {same_desired}
WHERE NOT c.gone AND NOT c.is_new AND ({differs});
CREATE OR REPLACE TABLE {equal} (row_id BIGINT, is_replaced BOOLEAN)

-- name: text_differs
m.{column}::VARCHAR IS DISTINCT FROM f.{column}::VARCHAR

-- name: read_maybe_equal
-- The texts of these columns, if all other columns are equal.
SELECT row_id, {texts} FROM {maybe_equal} c JOIN {main} m ON {same_stored} JOIN {desired} f ON {same_desired} WHERE {others_equal}

-- name: stored_and_desired_text
m.{column}::VARCHAR, f.{column}::VARCHAR

-- name: same_value
m.{column} IS NOT DISTINCT FROM f.{column}

-- name: find_replaced
-- The keys of the rows that get new signatures or ignored values without a new version.
CREATE TABLE {replaced} AS SELECT {key} FROM {changed_keys} WHERE rowid IN (SELECT row_id FROM {equal} WHERE is_replaced)

-- name: drop_equal
DELETE FROM {changed_keys} WHERE rowid IN (SELECT row_id FROM {equal})
