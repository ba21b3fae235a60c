-- subject: quality
-- severity: hold
-- title: Many rows changed an attribute that rarely changes
-- grain: one row per column
-- about: Too many rows of a table have another outlet, order, product, profile, campaign, type or creation time than in the previous snapshot. Reason: the columns may contain swapped fields, ids of other records, or shifted times. Changes from or to a hash are ignored, because a changed `privacy` rule causes them. Only tables in which at least a tenth of the rows changed are compared. Not detected: wrong attributes of new rows, and changes from and to NULL.
-- each: table product_listings outlet_listings outlets orders order_items campaigns campaign_articles articles
-- param: share DECIMAL 0.3 -- allowed share of the rows
-- param: min_rows COUNT 50 -- leave out changes of fewer rows
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
-- COLUMNS selects the columns with these names that the table has; "\1" keeps their names.
WITH rows_now AS (
    SELECT id, CAST(COLUMNS('^(created_at|outlet_id|order_id|product_id|profile_id|campaign_id|channel_type|placement_type)$') AS VARCHAR) AS "\1"
    FROM {table}
    WHERE valid_from = $snapshot
),
rows_then AS (
    SELECT id, CAST(COLUMNS('^(created_at|outlet_id|order_id|product_id|profile_id|campaign_id|channel_type|placement_type)$') AS VARCHAR) AS "\1"
    FROM past.{table}
    WHERE valid_to = $snapshot
),
-- Each value of a row becomes a row.
values_now AS (
    UNPIVOT rows_now ON COLUMNS(* EXCLUDE (id)) INTO NAME column_name VALUE value_now
),
values_before AS (
    UNPIVOT rows_then ON COLUMNS(* EXCLUDE (id)) INTO NAME column_name VALUE value_before
)
SELECT {name} AS table_name, column_name, count(*) AS rows_changed, (SELECT count(*) FROM before.{table}) AS rows_before
FROM values_now
JOIN values_before USING (id, column_name)
-- The hash of a private value has 64 characters.
WHERE value_now <> value_before AND length(value_now) <> 64 AND length(value_before) <> 64
GROUP BY column_name
HAVING rows_changed >= $min_rows AND rows_changed > rows_before * CAST($share AS DECIMAL(9, 3))
ORDER BY ALL
