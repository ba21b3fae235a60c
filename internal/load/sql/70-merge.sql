-- main must contain the desired rows after the merge. It also keeps rows that were not read. If a list and
-- a detail stream fill one table, their rows are joined: d is the detail, l the row of the list, m the stored
-- row of an earlier night, and x the merged unknown fields. If d lacks a value, the value of l is used, and
-- then the value of m.
--
-- Then main is compared with the desired rows, table by table, parents before children. Only the key and the
-- fingerprint of each row are read. m is a row of main, and w is a desired (wanted) row. After the gates, the
-- changes are written in one transaction, from close_versions on.

-- name: list_rows
-- The rows of a list, except the rows of kept details. The row of a kept detail in main has values of the
-- list and of the detail. The row of the list alone would remove the values of the detail.
SELECT * FROM {list} WHERE {param} NOT IN {kept}

-- name: kept_details
-- The ids whose rows in main are kept: carried ids, missed ids, and unread ids whose list row is
-- unchanged or no longer exists. If the list row of an unread id is new or changed, its values are
-- merged.
(SELECT {param} FROM {main} WHERE {param} IN (
    SELECT id FROM {plan} WHERE why = 'carried' OR (unread AND keeps_rows)
    UNION ALL SELECT id FROM {requested} WHERE outcome = 'missed'))

-- name: different_extras
-- Records for which two rows (the detail, the list row, the stored row) have different unknown fields. The
-- result contains the key and the unknown fields of both rows. If both rows have the same field, the value
-- in "preferred" is used. A detail is preferred to a list row, and both to a stored row.
--
-- Detail and list row.
SELECT d.{key}, l.extra::VARCHAR AS fallback, d.extra AS preferred
FROM {detail} d
JOIN ({list_rows}) l USING ({key})
WHERE d.extra <> l.extra::VARCHAR
UNION ALL
-- List row and stored row, without a detail.
SELECT l.{key}, m.extra::VARCHAR, l.extra
FROM ({list_rows}) l
JOIN {main} m USING ({key})
ANTI JOIN {detail} d USING ({key})
WHERE l.extra <> m.extra::VARCHAR
UNION ALL
-- Detail and stored row, without a list row.
SELECT d.{key}, m.extra::VARCHAR, d.extra
FROM {detail} d
JOIN {main} m USING ({key})
ANTI JOIN ({list_rows}) l USING ({key})
WHERE d.extra <> m.extra::VARCHAR

-- name: join_records
-- The stored row is used where the list or the detail was not read tonight.
CREATE TABLE {desired} AS SELECT *, {row_hash} AS row_hash FROM (
    SELECT {values}
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
-- stored values fill the columns that the list omits. These values may come from an earlier detail. ON FALSE
-- joins no rows: in each row of the result, either d or l is empty.
CREATE TABLE {desired} AS SELECT *, {row_hash} AS row_hash FROM (
    SELECT {values}
    FROM {detail} d
    FULL JOIN (
        SELECT * FROM {list}
        WHERE seq IN (SELECT r.seq FROM ({list_rows}) r ANTI JOIN {detail_records} USING ({record_key}))
    ) l ON FALSE
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
SELECT {columns}, row_hash FROM {staged}

-- name: compare
-- Creates the table of the keys that are new (is_new), deleted (gone) or have new values (neither). scope
-- is a condition on a row m of main. If no desired row has the key of a row m in the scope, the row m counts
-- as deleted. A row outside the scope is kept.
CREATE TABLE {changed_keys} AS SELECT {keys}, w.row_hash IS NULL AS gone, m.row_hash IS NULL AS is_new
FROM {stored} m FULL JOIN {desired} w ON {same_key}
WHERE m.row_hash IS DISTINCT FROM w.row_hash AND (w.row_hash IS NOT NULL OR {scope})

-- name: compared_key
coalesce(m.{column}, w.{column}) AS {column}

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
JOIN {stored} m ON {same_stored}
JOIN {desired} w ON {same_desired}
WHERE NOT c.gone AND NOT c.is_new AND ({differs});
CREATE OR REPLACE TABLE {equal} (row_id BIGINT, is_replaced BOOLEAN)

-- name: text_differs
m.{column}::VARCHAR IS DISTINCT FROM w.{column}::VARCHAR

-- name: read_maybe_equal
-- The texts of these columns, if all other columns are equal.
SELECT row_id, {texts} FROM {maybe_equal} c
JOIN {main} m ON {same_stored}
JOIN {desired} w ON {same_desired}
WHERE {others_equal}

-- name: stored_and_desired_text
m.{column}::VARCHAR, w.{column}::VARCHAR

-- name: same_value
m.{column} IS NOT DISTINCT FROM w.{column}

-- name: find_replaced
-- The keys of the rows that differ only in the signature of a URL or in an ignored value. Their values are
-- replaced, and no row version is added.
CREATE TABLE {replaced} AS SELECT {key} FROM {changed_keys} WHERE rowid IN (SELECT row_id FROM {equal} WHERE is_replaced)

-- name: drop_equal
DELETE FROM {changed_keys} WHERE rowid IN (SELECT row_id FROM {equal})

-- name: set_compression
-- The stage was written without compression.
SET GLOBAL force_compression = 'auto'

-- name: close_versions
-- Changed and deleted rows move to past.
INSERT INTO {past} ({columns}, valid_from, row_hash, valid_to, run_id)
SELECT {columns}, valid_from, row_hash, {now}, {run} FROM {main} SEMI JOIN {changed_keys} USING ({key})

-- name: delete_closed
DELETE FROM {main} m USING {changed_keys} c WHERE {same_key}

-- name: insert_all
-- For a table that is empty in main.
INSERT INTO {main} ({columns}, valid_from, row_hash) SELECT {columns}, {now}, row_hash FROM {desired}

-- name: insert_versions
INSERT INTO {main} ({columns}, valid_from, row_hash) SELECT {columns}, {now}, row_hash FROM {desired}
SEMI JOIN {changed_keys} USING ({key})

-- name: replace_values
-- The fingerprint is replaced too. Otherwise the same values would be a change in the next night.
UPDATE {main} AS m SET row_hash = w.row_hash, {assignments}
FROM {desired} w SEMI JOIN {replaced} USING ({key})
WHERE {same_key}

-- name: assignment
{column} = w.{column}

-- name: write_deletions
INSERT INTO meta.deletions (run_id, table_name, key, evidence)
SELECT {run}, {table}, concat_ws('/', {key}), {evidence} FROM {changed_keys} m WHERE gone

-- name: evidence_of_responses
CASE WHEN {param} IN (SELECT id FROM {requested} WHERE outcome = '404') THEN {not_found} ELSE {absent} END

-- name: evidence_by_list
-- For a table that several lists fill. Columns with a fixed value for each list distinguish their rows. ELSE is
-- for a first list without such columns.
CASE {cases} ELSE {absent_from_first_list} END

-- name: evidence_case
WHEN {stream_condition} THEN {absent_from_list}

-- name: forget_details
-- Removes the answered details and the details with a 404. write_details adds them again.
DELETE FROM meta.details WHERE stream = {stream} AND id IN (SELECT id FROM {requested} WHERE outcome <> 'missed')

-- name: mark_missed_details
-- The next night requests these details again, even if they are settled.
UPDATE meta.details SET failed_at = {now} WHERE stream = {stream} AND id IN (SELECT id FROM {requested} WHERE outcome = 'missed')

-- name: write_details
-- The plan of the next night compares these fingerprints. An id with a 404 and without an earlier row, for which read_at
-- is NULL, is settled like a record: for example a withdrawn product that an order names. With an earlier row, the id
-- gets no new row, and the next night confirms the 404.
INSERT INTO meta.details (stream, id, fingerprint, run_id, read_at)
SELECT {stream}, id, fingerprint, {run}, {now} FROM {plan}
WHERE id IN (SELECT id FROM {requested} WHERE outcome = 'answered')
    OR (read_at IS NULL AND id IN (SELECT id FROM {requested} WHERE outcome = '404'))
