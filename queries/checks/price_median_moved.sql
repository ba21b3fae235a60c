-- subject: prices
-- severity: hold
-- title: The median price moved
-- grain: one row per table, currency and tier
-- about: The median price of a group (a table, currency and tier) rose or fell by more than the allowed factor since the previous snapshot. Reason: the prices may be in cents instead of units, or zero, perhaps for one tier only. A group is ignored if less than a tenth of its prices are new or changed, because the median can move between two clusters of prices after a single change. Not detected: smaller changes, groups with few prices, and prices that swap places within a group.
-- param: factor DECIMAL 5 -- allowed factor, up or down
-- param: min_prices COUNT 50 -- leave out groups with fewer prices in either snapshot
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH current_prices AS (
    SELECT 'product_listing_prices' AS table_name, currency, pricing_tier, unit_amount, valid_from = $snapshot AS is_new_or_changed FROM product_listing_prices
    UNION ALL
    SELECT 'outlet_listing_prices', currency, pricing_tier, unit_amount, valid_from = $snapshot FROM outlet_listing_prices
    UNION ALL
    SELECT 'product_prices', currency, pricing_tier, unit_amount, valid_from = $snapshot FROM product_prices
),
-- Earlier releases stored currencies in lower case as sent.
earlier_prices AS (
    SELECT 'product_listing_prices' AS table_name, CASE WHEN length(currency) = 3 THEN upper(currency) ELSE currency END AS currency, pricing_tier, unit_amount FROM before.product_listing_prices
    UNION ALL
    SELECT 'outlet_listing_prices', CASE WHEN length(currency) = 3 THEN upper(currency) ELSE currency END, pricing_tier, unit_amount FROM before.outlet_listing_prices
    UNION ALL
    SELECT 'product_prices', CASE WHEN length(currency) = 3 THEN upper(currency) ELSE currency END, pricing_tier, unit_amount FROM before.product_prices
),
-- Medians are slow, so they are computed only for groups with enough new or changed prices.
changed_groups AS (
    SELECT table_name, currency, pricing_tier FROM current_prices GROUP BY ALL HAVING count(*) >= $min_prices AND 10 * count_if(is_new_or_changed) >= count(*)
),
current_medians AS (
    SELECT g.table_name, g.currency, g.pricing_tier, count(unit_amount) AS prices, median(unit_amount) AS median_price
    FROM changed_groups AS g JOIN current_prices AS c ON (c.table_name, c.currency, c.pricing_tier) IS NOT DISTINCT FROM (g.table_name, g.currency, g.pricing_tier)
    GROUP BY ALL
),
earlier_medians AS (
    SELECT g.table_name, g.currency, g.pricing_tier, count(unit_amount) AS prices, median(unit_amount) AS median_price
    FROM changed_groups AS g JOIN earlier_prices AS e ON (e.table_name, e.currency, e.pricing_tier) IS NOT DISTINCT FROM (g.table_name, g.currency, g.pricing_tier)
    GROUP BY ALL
)
SELECT n.table_name, n.currency, n.pricing_tier, b.prices AS prices_before, n.prices, CAST(b.median_price AS DECIMAL(18, 6)) AS median_before, CAST(n.median_price AS DECIMAL(18, 6)) AS median_price
FROM current_medians AS n JOIN earlier_medians AS b ON (n.table_name, n.currency, n.pricing_tier) IS NOT DISTINCT FROM (b.table_name, b.currency, b.pricing_tier)
WHERE n.prices >= $min_prices AND b.prices >= $min_prices
  AND (n.median_price > CAST(b.median_price AS DECIMAL(38, 6)) * CAST($factor AS DECIMAL(9, 3))
    OR CAST(n.median_price AS DECIMAL(38, 6)) * CAST($factor AS DECIMAL(9, 3)) < b.median_price)
ORDER BY ALL
