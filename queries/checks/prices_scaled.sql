-- subject: prices
-- severity: hold
-- title: Many prices changed by the same factor
-- grain: one row per table, currency and factor
-- about: More than a share of the prices of a currency changed by the same factor since the last snapshot. Factors near 1 pass, because a general price rise has the same effect. Not found: factors that differ from price to price, and prices whose currency changed too.
-- param: share DECIMAL 0.3 -- largest share of the prices of a currency
-- param: low DECIMAL 0.8 -- factors from here pass
-- param: high DECIMAL 1.25 -- factors up to here pass
-- param: min_prices COUNT 50 -- leave out factors of fewer prices
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; the audit sets it
WITH price_changes AS (
    SELECT 'product_listing_prices' AS table_name, n.currency, round(n.unit_amount / p.unit_amount, 2) AS factor
    FROM product_listing_prices AS n JOIN past.product_listing_prices AS p USING (product_listing_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.unit_amount > 0 AND n.currency IS NOT DISTINCT FROM p.currency AND n.unit_amount <> p.unit_amount
    UNION ALL
    SELECT 'outlet_listing_prices' AS table_name, n.currency, round(n.unit_amount / p.unit_amount, 2) AS factor
    FROM outlet_listing_prices AS n JOIN past.outlet_listing_prices AS p USING (outlet_listing_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.unit_amount > 0 AND n.currency IS NOT DISTINCT FROM p.currency AND n.unit_amount <> p.unit_amount
    UNION ALL
    SELECT 'product_prices' AS table_name, n.currency, round(n.unit_amount / p.unit_amount, 2) AS factor
    FROM product_prices AS n JOIN past.product_prices AS p USING (product_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.unit_amount > 0 AND n.currency IS NOT DISTINCT FROM p.currency AND n.unit_amount <> p.unit_amount
),
earlier AS (
    SELECT 'product_listing_prices' AS table_name, currency, count(*) AS prices FROM before.product_listing_prices GROUP BY currency
    UNION ALL
    SELECT 'outlet_listing_prices', currency, count(*) FROM before.outlet_listing_prices GROUP BY currency
    UNION ALL
    SELECT 'product_prices', currency, count(*) FROM before.product_prices GROUP BY currency
)
SELECT table_name, price_changes.currency, factor, count(*) AS prices_changed, any_value(prices) AS prices_before
FROM price_changes JOIN earlier USING (table_name)
WHERE price_changes.currency IS NOT DISTINCT FROM earlier.currency
  AND (factor < CAST($low AS DECIMAL(9, 3)) OR factor > CAST($high AS DECIMAL(9, 3)))
GROUP BY ALL
HAVING prices_changed >= $min_prices AND prices_changed > any_value(prices) * CAST($share AS DECIMAL(9, 3))
ORDER BY ALL
