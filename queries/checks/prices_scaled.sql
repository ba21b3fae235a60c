-- subject: prices
-- severity: hold
-- title: Many prices changed by the same factor
-- grain: one row per table and currency
-- about: Too many prices of a currency changed by the same factor since the previous snapshot. Reason: the prices may be in cents instead of units, per hundred, or in another currency under the old name. Factors that differ by up to about 3 % from a middle factor count as the same, because prices are rounded. Factors near 1 are ignored, because a general price rise has such a factor. Prices whose currency or tier changed too are not compared. Not detected: factors that differ from price to price.
-- param: share DECIMAL 0.3 -- allowed share of prices with the same factor
-- param: low DECIMAL 0.8 -- smallest allowed factor
-- param: high DECIMAL 1.25 -- largest allowed factor
-- param: min_prices COUNT 50 -- leave out factors of fewer prices
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH price_changes AS (
    SELECT 'product_listing_prices' AS table_name, n.currency, n.unit_amount / p.unit_amount AS factor
    FROM product_listing_prices AS n JOIN past.product_listing_prices AS p USING (product_listing_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.unit_amount > 0 AND (n.currency, n.pricing_tier) IS NOT DISTINCT FROM (p.currency, p.pricing_tier)
    UNION ALL
    SELECT 'outlet_listing_prices', n.currency, n.unit_amount / p.unit_amount
    FROM outlet_listing_prices AS n JOIN past.outlet_listing_prices AS p USING (outlet_listing_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.unit_amount > 0 AND (n.currency, n.pricing_tier) IS NOT DISTINCT FROM (p.currency, p.pricing_tier)
    UNION ALL
    SELECT 'product_prices', n.currency, n.unit_amount / p.unit_amount
    FROM product_prices AS n JOIN past.product_prices AS p USING (product_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.unit_amount > 0 AND (n.currency, n.pricing_tier) IS NOT DISTINCT FROM (p.currency, p.pricing_tier)
),
-- Factors are rounded to steps of 2 %. A group is a step with its two neighbours, about 3 % to each
-- side. Factors of zero and below have a step of their own, -100000, far from all others.
steps AS (
    SELECT table_name, currency, CASE WHEN factor > 0 THEN CAST(round(50 * ln(factor)) AS INTEGER) ELSE -100000 END AS step, count(*) AS prices, median(factor) AS factor
    FROM price_changes
    WHERE factor < CAST($low AS DECIMAL(9, 3)) OR factor > CAST($high AS DECIMAL(9, 3))
    GROUP BY table_name, currency, step
),
step_groups AS (
    SELECT *, CAST(sum(prices) OVER (PARTITION BY table_name, currency ORDER BY step RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS BIGINT) AS prices_changed FROM steps
),
price_counts_before AS (
    SELECT 'product_listing_prices' AS table_name, currency, count(*) AS prices_before FROM before.product_listing_prices GROUP BY currency
    UNION ALL
    SELECT 'outlet_listing_prices', currency, count(*) FROM before.outlet_listing_prices GROUP BY currency
    UNION ALL
    SELECT 'product_prices', currency, count(*) FROM before.product_prices GROUP BY currency
)
SELECT n.table_name, n.currency, round(factor, 4) AS factor, prices_changed, prices_before
FROM step_groups AS n JOIN price_counts_before AS e ON (n.table_name, n.currency) IS NOT DISTINCT FROM (e.table_name, e.currency)
WHERE prices_changed >= $min_prices AND prices_changed > prices_before * CAST($share AS DECIMAL(9, 3))
QUALIFY row_number() OVER (PARTITION BY n.table_name, n.currency ORDER BY prices_changed DESC, prices DESC, step) = 1
ORDER BY ALL
