-- subject: quality
-- severity: hold
-- title: Statuses were renamed or exchanged
-- grain: one row per column
-- about: Too many rows of a table changed to a status that no row had in the previous snapshot, or two statuses swapped places (in each direction, at least half of "min_rows" rows). Or at least "min_small" rows changed their status, and no row still has a status of the previous snapshot. Reason: queries compare statuses with fixed texts. Many changes from one known status to another are ignored, because people may change many statuses at once. Only tables in which at least a tenth of the rows changed are compared. Not detected: wrong statuses of new rows, and statuses that became NULL (see nulls_rose).
-- each: table orders order_items campaigns articles
-- param: share DECIMAL 0.3 -- allowed share of the rows
-- param: min_rows COUNT 50 -- leave out changes of fewer rows, unless no earlier status is left
-- param: min_small COUNT 5 -- smallest number of changed rows if no earlier status is left
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH changes AS (
    -- The hash of a private value has 64 characters.
    SELECT column_name, status_before, status, count(*) AS rows_changed
    FROM (UNPIVOT (SELECT id, COLUMNS('^(status|commission_status|status_prefix)$') FROM {table} WHERE valid_from = $snapshot)
        ON COLUMNS(* EXCLUDE (id)) INTO NAME column_name VALUE status) AS n
    JOIN (UNPIVOT (SELECT id, COLUMNS('^(status|commission_status|status_prefix)$') FROM past.{table} WHERE valid_to = $snapshot)
        ON COLUMNS(* EXCLUDE (id)) INTO NAME column_name VALUE status_before) AS p USING (id, column_name)
    WHERE status <> status_before AND length(status) <> 64 AND length(status_before) <> 64
    GROUP BY ALL
),
known_statuses AS (SELECT DISTINCT column_name, status FROM (UNPIVOT (SELECT COLUMNS('^(status|commission_status|status_prefix)$') FROM before.{table}) ON COLUMNS(*) INTO NAME column_name VALUE status)),
columns_with_known_statuses AS (
    SELECT DISTINCT column_name
    FROM (UNPIVOT (SELECT COLUMNS('^(status|commission_status|status_prefix)$') FROM {table}) ON COLUMNS(*) INTO NAME column_name VALUE status) JOIN known_statuses USING (column_name, status)
)
SELECT {name} AS table_name, column_name, CAST(sum(c.rows_changed) AS BIGINT) AS rows_changed, (SELECT count(*) FROM before.{table}) AS rows_before,
    array_to_string(list(c.status_before || ' to ' || c.status ORDER BY c.rows_changed DESC, c.status)[:5], ', ') AS changes
FROM changes AS c LEFT JOIN known_statuses AS k USING (column_name, status)
LEFT JOIN changes AS reverse_change ON reverse_change.column_name = c.column_name AND reverse_change.status = c.status_before AND reverse_change.status_before = c.status
WHERE k.status IS NULL
   OR (2 * c.rows_changed >= $min_rows AND 2 * reverse_change.rows_changed >= $min_rows)
GROUP BY column_name
HAVING sum(c.rows_changed) > (SELECT count(*) FROM before.{table}) * CAST($share AS DECIMAL(9, 3))
   AND (sum(c.rows_changed) >= $min_rows
     OR (sum(c.rows_changed) >= $min_small AND column_name NOT IN (SELECT column_name FROM columns_with_known_statuses)))
ORDER BY ALL
