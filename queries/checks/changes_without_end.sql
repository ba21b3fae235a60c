-- subject: quality
-- severity: warn
-- title: A column changes in every answer
-- grain: one row per column
-- about: In each of the last three nights, a column changed in too many rows of its table, and most of these rows have no other change. Reason: the column contains a value that the service makes for each answer, such as a signature or the time of the answer. Each night then adds a version of each row. The column "line" has the line for the configuration: see history.ignore. Members of extra count as columns. A sample of about 1,000 rows of a table is compared. Not detected: columns of tables of which a night reads only a part.
-- each: rewritten
-- param: share DECIMAL 0.8 -- allowed share of the rows, at least 0.5
-- param: min_rows COUNT 20 -- leave out smaller tables
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
-- The last three nights, if each of them changed more than the share of the rows. Otherwise there are no rows.
WITH nights AS (
    SELECT snapshot_at AS night
    FROM (SELECT run_id, snapshot_at FROM meta.runs WHERE snapshot_at <= $snapshot AND kind IS DISTINCT FROM 'refresh' ORDER BY snapshot_at DESC LIMIT 3) AS r
    JOIN meta.tables AS t USING (run_id)
    WHERE t.table_name = {name} AND t.rows >= $min_rows AND t.rows_changed > t.rows * CAST($share AS DECIMAL(9, 3))
    QUALIFY count(*) OVER () = 3
),
sample_step AS ( -- one of "step" rows is compared
    SELECT greatest(1, count(*) // 1000) AS step FROM {table}
),
-- The rows of the sample before and after each night.
versions AS (
    SELECT hash({key}) AS id, valid_to AS night, TRUE AS is_before, to_json(h) AS record
    FROM history.{table} AS h WHERE valid_to IN (FROM nights) AND hash({key}) % (SELECT step FROM sample_step) = 0
    UNION ALL
    SELECT hash({key}), valid_from, FALSE, to_json(h)
    FROM history.{table} AS h WHERE valid_from IN (FROM nights) AND hash({key}) % (SELECT step FROM sample_step) = 0
),
columns AS (
    SELECT id, night, is_before, name, json_extract(record, '$."' || name || '"') AS value
    FROM (SELECT *, unnest(json_keys(record)) AS name FROM versions)
    WHERE name NOT IN ('valid_from', 'valid_to')
),
members AS (
    SELECT id, night, is_before, name, value FROM columns WHERE name <> 'extra'
    UNION ALL
    SELECT id, night, is_before, 'extra.' || member, json_extract(value, '$."' || member || '"')
    FROM (SELECT *, unnest(json_keys(value)) AS member FROM columns WHERE name = 'extra' AND json_type(value) = 'OBJECT')
),
-- The changed columns of each row that exists before and after a night.
changes AS (
    SELECT id, night, name FROM members
    SEMI JOIN (SELECT id, night FROM versions GROUP BY ALL HAVING count(DISTINCT is_before) = 2) AS changed_rows USING (id, night)
    GROUP BY ALL
    HAVING any_value(CAST(value AS VARCHAR)) FILTER (is_before) IS DISTINCT FROM any_value(CAST(value AS VARCHAR)) FILTER (NOT is_before)
),
-- The columns that changed in enough rows in each of the three nights.
endless_columns AS (
    SELECT name, min(times) AS times
    FROM (SELECT name, count(*) AS times FROM changes GROUP BY name, night)
    WHERE times > (SELECT count(*) FROM {table} WHERE hash({key}) % (SELECT step FROM sample_step) = 0) * CAST($share AS DECIMAL(9, 3))
    GROUP BY name HAVING count(*) = 3
),
-- The share of the changed rows in which only endless columns changed.
explained_share AS (
    SELECT avg(CAST(has_no_other AS INTEGER)) AS share FROM (
        SELECT bool_and(name IN (SELECT name FROM endless_columns)) AS has_no_other FROM changes GROUP BY id, night)
)
SELECT {name} AS table_name, name AS column_name, 'history.ignore: [' || {name} || '.' || name || ']' AS line, times AS rows_changed
FROM endless_columns WHERE (SELECT share FROM explained_share) > 0.5
ORDER BY ALL
