-- subject: prices
-- severity: warn
-- title: Prices of zero or below
-- grain: one row per price
-- about: Prices that are zero or negative. Reason: they lower averages and look like the best offer. A price of zero may be a free placement. Not detected: prices that are too low but positive (see price_median_moved).
SELECT 'product_listing_prices' AS table_name, product_listing_id AS id, position, unit_amount, currency, pricing_tier FROM product_listing_prices WHERE unit_amount <= 0
UNION ALL
SELECT 'outlet_listing_prices', outlet_listing_id, position, unit_amount, currency, pricing_tier FROM outlet_listing_prices WHERE unit_amount <= 0
UNION ALL
SELECT 'product_prices', product_id, position, unit_amount, currency, pricing_tier FROM product_prices WHERE unit_amount <= 0
ORDER BY ALL
