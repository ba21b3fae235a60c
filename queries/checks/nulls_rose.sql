-- subject: quality
-- severity: hold
-- title: An important column lost many of its values
-- grain: one row per column
-- about: The share of NULL among the outlets, orders, prices, currencies, statuses, order totals, sale prices or commissions of a table rose by more than 20 percentage points since the previous snapshot. Reason: the service may leave out or rename a field. Only tables in which at least a tenth of the rows changed are compared. Not detected: a smaller rise, a rise over several nights, and other columns (see column_emptied).
-- each: table product_listings outlet_listings product_listing_prices outlet_listing_prices product_prices orders order_items campaigns articles
-- param: points DECIMAL 20 -- largest allowed rise, in percentage points
-- param: min_rows COUNT 50 -- leave out tables with fewer rows in either snapshot
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; set by the program
WITH null_percents AS (
    -- COLUMNS selects the columns with these names that the table has; "\1" keeps their names.
    SELECT 100 - 100 * count(COLUMNS('^(outlet_id|order_id|unit_amount|currency|status|status_prefix|total|sale_price|commission_amount)$')) / count(*) AS "\1"
    FROM {table} HAVING count(*) >= $min_rows
),
null_percents_before AS (
    SELECT 100 - 100 * count(COLUMNS('^(outlet_id|order_id|unit_amount|currency|status|status_prefix|total|sale_price|commission_amount)$')) / count(*) AS "\1"
    FROM before.{table} HAVING count(*) >= $min_rows
)
SELECT {name} AS table_name, column_name, CAST(b.percent AS DECIMAL(5, 1)) AS null_percent_before, CAST(n.percent AS DECIMAL(5, 1)) AS null_percent
FROM (UNPIVOT null_percents ON COLUMNS(*) INTO NAME column_name VALUE percent) AS n
JOIN (UNPIVOT null_percents_before ON COLUMNS(*) INTO NAME column_name VALUE percent) AS b USING (column_name)
WHERE n.percent - b.percent > CAST($points AS DECIMAL(9, 3)) AND NOT contains($private, ',' || {name} || '.' || column_name || ',')
ORDER BY ALL
