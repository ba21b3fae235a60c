-- subject: quality
-- severity: hold
-- title: Two columns were exchanged
-- grain: one row per pair of columns
-- about: Two columns of the same type now have the earlier values of each other, in more than the allowed share of the rows in which one of them changed. Reason: the service, or its documentation, may have exchanged two fields. Only tables in which at least a tenth of the rows changed are compared, and exchanges in less than a tenth of the rows are left out, because people correct single records. Not detected: exchanged columns of new rows, and exchanged flags.
-- each: type
-- param: share DECIMAL 0.5 -- allowed share of the changed rows
-- param: min_rows COUNT 5 -- leave out exchanges in fewer rows
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH cells AS (
    -- Hashes are compared instead of values, because a text can be long.
    SELECT {key}, unnest([{column_names}]) AS column_name, unnest(n.hashes) AS hash_now, unnest(p.hashes) AS hash_before
    FROM (SELECT {key}, list_transform([{columns}], lambda v: hash(v)) AS hashes FROM {table} WHERE valid_from = $snapshot) AS n
    JOIN (SELECT {key}, list_transform([{columns}], lambda v: hash(v)) AS hashes FROM past.{table} WHERE valid_to = $snapshot) AS p USING ({key})
    WHERE n.hashes <> p.hashes
),
changes AS (SELECT * FROM cells WHERE hash_now <> hash_before),
change_counts AS (SELECT column_name, count(*) AS changed FROM changes GROUP BY column_name),
exchanges AS (
    SELECT a.column_name, b.column_name AS other_column, count(*) AS rows_exchanged
    FROM changes AS a JOIN changes AS b USING ({key})
    WHERE a.column_name < b.column_name AND a.hash_now = b.hash_before AND b.hash_now = a.hash_before
    GROUP BY ALL
)
SELECT {name} AS table_name, e.column_name, other_column, rows_exchanged, (SELECT count(*) FROM before.{table}) AS rows_before
FROM exchanges AS e JOIN change_counts AS a ON a.column_name = e.column_name JOIN change_counts AS b ON b.column_name = other_column
WHERE rows_exchanged >= $min_rows
  AND rows_exchanged > greatest(a.changed, b.changed) * CAST($share AS DOUBLE)
  AND 10 * rows_exchanged > rows_before
ORDER BY ALL
