-- subject: quality
-- severity: hold
-- title: A flag changed in most rows
-- grain: one row per column
-- about: A column of true or false has the opposite value in more than the allowed share of its rows since the previous snapshot. Reason: the service may fill a field with a constant, or invert its meaning. Not detected: wrong flags of new rows, and flags that became NULL (see column_emptied).
-- each: column BOOLEAN
-- param: share DECIMAL 0.5 -- allowed share of the rows
-- param: min_rows COUNT 20 -- leave out changes of fewer rows
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
SELECT {name} AS table_name, {column_name} AS column_name, rows_now_true, rows_now_false, rows_before
FROM (
    SELECT count_if(n.{column} AND NOT p.{column}) AS rows_now_true, count_if(NOT n.{column} AND p.{column}) AS rows_now_false
    FROM {table} AS n JOIN past.{table} AS p USING ({key})
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
), (SELECT count({column}) AS rows_before FROM before.{table})
WHERE rows_now_true + rows_now_false >= $min_rows AND rows_now_true + rows_now_false > rows_before * CAST($share AS DOUBLE)
