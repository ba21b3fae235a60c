-- main must contain the desired rows after the merge. It also keeps rows that were not read. If a list and
-- a detail stream fill one table, their rows are joined: d is the detail, l the row of the list, m the stored
-- row of an earlier night, and x the merged unknown fields. If d lacks a value, the value of l is used, and
-- then the value of m.

-- name: list_rows
-- The rows of a list, except the rows of kept details. The row of a kept detail in main has values of the
-- list and of the detail. The row of the list alone would remove the values of the detail.
SELECT * FROM {list} WHERE {param} NOT IN {kept}

-- name: kept_details
-- The ids whose rows in main are kept: carried ids, missed ids, and unread ids whose list row is
-- unchanged or no longer exists. If the list row of an unread id is new or changed, its values are
-- merged.
(SELECT {param} FROM {main} WHERE {param} IN (
    SELECT id FROM {plan} WHERE why = 'carried' OR unread AND keeps_rows
    UNION ALL SELECT id FROM {requested} WHERE outcome = 'missed'))

-- name: different_extras
-- Records for which two rows (the detail, the list row, the stored row) have different unknown fields. The
-- result contains the key and the unknown fields of both rows. If both rows have the same field, the value
-- in "preferred" is used. A detail is preferred to a list row, and both to a stored row.
SELECT p.{key}, f.extra::VARCHAR AS fallback, p.extra AS preferred FROM {detail} p JOIN ({list_rows}) f USING ({key})
WHERE p.extra <> f.extra::VARCHAR
UNION ALL SELECT p.{key}, f.extra::VARCHAR, p.extra FROM ({list_rows}) p JOIN {main} f USING ({key}) ANTI JOIN {detail} d USING ({key})
WHERE p.extra <> f.extra::VARCHAR
UNION ALL SELECT p.{key}, f.extra::VARCHAR, p.extra FROM {detail} p JOIN {main} f USING ({key}) ANTI JOIN ({list_rows}) l USING ({key})
WHERE p.extra <> f.extra::VARCHAR

-- name: join_records
-- The stored row is used where the list or the detail was not read tonight.
CREATE TABLE {desired} AS SELECT *, {row_hash} AS row_hash FROM (
    SELECT {values}, coalesce(d.seq, l.seq) AS seq
    FROM {detail} d FULL JOIN ({list_rows}) l ON {same_key}
    LEFT JOIN {main} m ON m.{key} = coalesce(d.{key}, l.{key}) AND (d.seq IS NULL OR l.seq IS NULL)
    LEFT JOIN {extra} x ON x.id = coalesce(d.{key}, l.{key}))

-- name: record_extra
coalesce(x.extra, d.extra, l.extra, m.extra) AS {column}

-- name: record_text
-- An empty text is used only if all other texts are empty or NULL.
coalesce(nullif(d.{column}, ''), nullif(l.{column}, ''), m.{column}, l.{column}, d.{column}) AS {column}

-- name: joined_value
coalesce(d.{column}, l.{column}, m.{column}) AS {column}

-- name: join_child_rows
-- The child rows of the details and, for records without a detail tonight, those of the list. All rows of
-- one copy of a record have the same seq. If no value of a list's child row contradicts the stored row, the
-- stored values fill the columns that the list omits. These values may come from an earlier detail.
CREATE TABLE {desired} AS SELECT *, {row_hash} AS row_hash FROM (
    SELECT {values}, coalesce(d.seq, l.seq) AS seq
    FROM {detail} d FULL JOIN (
        SELECT * FROM {list} WHERE seq IN (SELECT r.seq FROM ({list_rows}) r ANTI JOIN {detail_records} f USING ({record_key}))) l ON FALSE
    LEFT JOIN {main} m ON {agrees})

-- name: child_text
coalesce(d.{column}, nullif(l.{column}, ''), m.{column}, l.{column}) AS {column}

-- name: value_agrees
(nullif(l.{column}::VARCHAR, '') IS NULL OR l.{column}::VARCHAR = m.{column}::VARCHAR)

-- name: joined_row_hash
-- The row_hash of a joined row is computed from its values, because it cannot be computed from the hashes
-- of the list row and of the detail. NULL columns are omitted, so that a new column changes no row_hash.
md5_number_lower(concat_ws(chr(31), {parts}))

-- name: hashed_value
{label} || {column}::VARCHAR

-- name: hashed_instant
-- In microseconds, so that the time zone of the session does not matter.
{label} || epoch_us({column})::VARCHAR

-- name: view_desired
-- If no detail stream completes the table, the staged rows are the desired rows, and no row is copied.
CREATE VIEW {desired} AS {rows}

-- name: staged_rows
SELECT {columns}, row_hash, seq FROM {staged}
