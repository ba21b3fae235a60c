-- subject: prices
-- severity: hold
-- title: The median price moved
-- grain: one row per table, currency and tier
-- about: The median price of a currency and tier changed by more than a factor since the last snapshot, for example because the service sends cents instead of units. Only tables with at least a tenth of changed rows are compared. Not found: smaller changes, and groups with few prices.
-- each: table product_listing_prices outlet_listing_prices product_prices
-- param: factor DECIMAL 5 -- largest factor, up or down
-- param: min_prices COUNT 50 -- leave out groups with fewer prices in either snapshot
SELECT {name} AS table_name, n.currency, n.pricing_tier, b.prices AS prices_before, n.prices, CAST(b.median_price AS DECIMAL(18, 6)) AS median_before, CAST(n.median_price AS DECIMAL(18, 6)) AS median_price
FROM (SELECT currency, pricing_tier, count(unit_amount) AS prices, median(unit_amount) AS median_price FROM {table} GROUP BY ALL) AS n
JOIN (SELECT currency, pricing_tier, count(unit_amount) AS prices, median(unit_amount) AS median_price FROM before.{table} GROUP BY ALL) AS b
    ON (n.currency, n.pricing_tier) IS NOT DISTINCT FROM (b.currency, b.pricing_tier)
WHERE n.prices >= $min_prices AND b.prices >= $min_prices
  AND (n.median_price > b.median_price * CAST($factor AS DECIMAL(9, 3)) OR n.median_price * CAST($factor AS DECIMAL(9, 3)) < b.median_price)
ORDER BY ALL
