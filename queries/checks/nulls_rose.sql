-- subject: quality
-- severity: hold
-- title: A key attribute lost many of its values
-- grain: one row per column
-- about: The share of NULL in a price, a currency, an outlet, a status, a sale price or a commission rose by more than 20 percentage points since the last snapshot. Not found: a smaller rise, or a rise over several nights.
-- param: points DECIMAL 20 -- largest rise, in percentage points
-- param: min_rows COUNT 50 -- leave out tables with fewer rows in either snapshot
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; the audit sets it
WITH current_counts AS (
    SELECT 'product_listings' AS table_name, count(*) AS rows, unnest(['outlet_id']) AS column_name, unnest([count(outlet_id)]) AS filled FROM product_listings
    UNION ALL
    SELECT 'outlet_listings' AS table_name, count(*) AS rows, unnest(['outlet_id']) AS column_name, unnest([count(outlet_id)]) AS filled FROM outlet_listings
    UNION ALL
    SELECT 'product_listing_prices' AS table_name, count(*) AS rows, unnest(['unit_amount', 'currency']) AS column_name, unnest([count(unit_amount), count(currency)]) AS filled FROM product_listing_prices
    UNION ALL
    SELECT 'outlet_listing_prices' AS table_name, count(*) AS rows, unnest(['unit_amount', 'currency']) AS column_name, unnest([count(unit_amount), count(currency)]) AS filled FROM outlet_listing_prices
    UNION ALL
    SELECT 'orders' AS table_name, count(*) AS rows, unnest(['status', 'total']) AS column_name, unnest([count(status), count(total)]) AS filled FROM orders
    UNION ALL
    SELECT 'order_items' AS table_name, count(*) AS rows, unnest(['order_id', 'outlet_id', 'sale_price', 'commission_amount']) AS column_name, unnest([count(order_id), count(outlet_id), count(sale_price), count(commission_amount)]) AS filled FROM order_items
    UNION ALL
    SELECT 'campaigns' AS table_name, count(*) AS rows, unnest(['status']) AS column_name, unnest([count(status)]) AS filled FROM campaigns
    UNION ALL
    SELECT 'articles' AS table_name, count(*) AS rows, unnest(['status_prefix']) AS column_name, unnest([count(status_prefix)]) AS filled FROM articles
),
earlier_counts AS (
    SELECT 'product_listings' AS table_name, count(*) AS rows, unnest(['outlet_id']) AS column_name, unnest([count(outlet_id)]) AS filled FROM before.product_listings
    UNION ALL
    SELECT 'outlet_listings' AS table_name, count(*) AS rows, unnest(['outlet_id']) AS column_name, unnest([count(outlet_id)]) AS filled FROM before.outlet_listings
    UNION ALL
    SELECT 'product_listing_prices' AS table_name, count(*) AS rows, unnest(['unit_amount', 'currency']) AS column_name, unnest([count(unit_amount), count(currency)]) AS filled FROM before.product_listing_prices
    UNION ALL
    SELECT 'outlet_listing_prices' AS table_name, count(*) AS rows, unnest(['unit_amount', 'currency']) AS column_name, unnest([count(unit_amount), count(currency)]) AS filled FROM before.outlet_listing_prices
    UNION ALL
    SELECT 'orders' AS table_name, count(*) AS rows, unnest(['status', 'total']) AS column_name, unnest([count(status), count(total)]) AS filled FROM before.orders
    UNION ALL
    SELECT 'order_items' AS table_name, count(*) AS rows, unnest(['order_id', 'outlet_id', 'sale_price', 'commission_amount']) AS column_name, unnest([count(order_id), count(outlet_id), count(sale_price), count(commission_amount)]) AS filled FROM before.order_items
    UNION ALL
    SELECT 'campaigns' AS table_name, count(*) AS rows, unnest(['status']) AS column_name, unnest([count(status)]) AS filled FROM before.campaigns
    UNION ALL
    SELECT 'articles' AS table_name, count(*) AS rows, unnest(['status_prefix']) AS column_name, unnest([count(status_prefix)]) AS filled FROM before.articles
)
SELECT table_name, column_name, CAST(100 - 100 * e.filled / e.rows AS DECIMAL(5, 1)) AS null_percent_before, CAST(100 - 100 * n.filled / n.rows AS DECIMAL(5, 1)) AS null_percent
FROM current_counts AS n JOIN earlier_counts AS e USING (table_name, column_name)
WHERE n.rows >= $min_rows AND e.rows >= $min_rows
  AND 100 * e.filled / e.rows - 100 * n.filled / n.rows > CAST($points AS DECIMAL(9, 3))
  AND NOT contains($private, ',' || table_name || '.' || column_name || ',')
ORDER BY ALL
