-- subject: prices
-- severity: hold
-- title: Many prices changed their currency
-- grain: one row per table, old and new currency
-- about: Too many prices changed from one currency to another since the previous snapshot: at least "min_prices", and more than "share" of the old currency. A smaller change is reported if it is at least "min_small" prices, more than "share_small" of the old currency, and more than "share" of the table. Reason: a price rarely changes its currency; swapped fields are a likely cause. A price that only moved to another position in its record is ignored. Changes from or to a hash are also ignored, because a changed `privacy` rule causes them. The case of letters is ignored. Not detected: a wrong currency of new prices.
-- param: share DECIMAL 0.3 -- allowed share of the prices of the old currency, and of the table for a smaller change
-- param: min_prices COUNT 50 -- a change of fewer prices is a smaller change
-- param: share_small DECIMAL 0.8 -- allowed share of the prices of the old currency for a smaller change
-- param: min_small COUNT 5 -- leave out changes of fewer prices
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH currency_changes AS (
    -- The hash of a private value has 64 characters.
    SELECT 'product_listing_prices' AS table_name, p.currency, n.currency AS currency_now
    FROM product_listing_prices AS n JOIN past.product_listing_prices AS p USING (product_listing_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND upper(n.currency) <> upper(p.currency) AND length(n.currency) <> 64 AND length(p.currency) <> 64
      AND NOT EXISTS (FROM product_listing_prices AS m WHERE m.valid_from = $snapshot AND m.product_listing_id = p.product_listing_id
        AND (upper(m.currency), m.pricing_tier, m.unit_amount) IS NOT DISTINCT FROM (upper(p.currency), p.pricing_tier, p.unit_amount))
    UNION ALL
    SELECT 'outlet_listing_prices' AS table_name, p.currency, n.currency AS currency_now
    FROM outlet_listing_prices AS n JOIN past.outlet_listing_prices AS p USING (outlet_listing_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND upper(n.currency) <> upper(p.currency) AND length(n.currency) <> 64 AND length(p.currency) <> 64
      AND NOT EXISTS (FROM outlet_listing_prices AS m WHERE m.valid_from = $snapshot AND m.outlet_listing_id = p.outlet_listing_id
        AND (upper(m.currency), m.pricing_tier, m.unit_amount) IS NOT DISTINCT FROM (upper(p.currency), p.pricing_tier, p.unit_amount))
    UNION ALL
    SELECT 'product_prices' AS table_name, p.currency, n.currency AS currency_now
    FROM product_prices AS n JOIN past.product_prices AS p USING (product_id, position)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND upper(n.currency) <> upper(p.currency) AND length(n.currency) <> 64 AND length(p.currency) <> 64
      AND NOT EXISTS (FROM product_prices AS m WHERE m.valid_from = $snapshot AND m.product_id = p.product_id
        AND (upper(m.currency), m.pricing_tier, m.unit_amount) IS NOT DISTINCT FROM (upper(p.currency), p.pricing_tier, p.unit_amount))
),
price_counts_before AS (
    SELECT 'product_listing_prices' AS table_name, currency, count(*) AS prices FROM before.product_listing_prices GROUP BY currency
    UNION ALL
    SELECT 'outlet_listing_prices', currency, count(*) FROM before.outlet_listing_prices GROUP BY currency
    UNION ALL
    SELECT 'product_prices', currency, count(*) FROM before.product_prices GROUP BY currency
),
change_counts AS (
    SELECT
        table_name, currency AS currency_before, currency_now,
        count(*)                   AS prices_changed,
        any_value(prices)          AS prices_before,
        any_value(prices_in_table) AS table_prices_before
    FROM currency_changes JOIN (SELECT *, sum(prices) OVER (PARTITION BY table_name) AS prices_in_table FROM price_counts_before) USING (table_name, currency)
    GROUP BY ALL
),
judged_changes AS (
    SELECT
        *,
        prices_changed > prices_before * CAST($share AS DECIMAL(9, 3)) AS exceeds_share,
        prices_changed >= $min_prices                                  AS is_large,
        prices_changed >= $min_small
            AND prices_changed > prices_before * CAST($share_small AS DECIMAL(9, 3))
            AND prices_changed > table_prices_before * CAST($share AS DECIMAL(9, 3)) AS exceeds_small_limits
    FROM change_counts
)
SELECT table_name, currency_before, currency_now, prices_changed, prices_before
FROM judged_changes
WHERE exceeds_share AND (is_large OR exceeds_small_limits)
ORDER BY ALL
