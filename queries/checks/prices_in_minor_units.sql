-- subject: prices
-- severity: warn
-- title: Prices in the smallest unit of their currency
-- grain: one row, if the prices are a hundred times what was paid
-- about: The prices of products are a hundred times the amounts that were paid for them: for at least "min_pairs" order items, the median of price divided by paid amount is within "percent" % of 100. Reason: the service sends prices in cents, and amounts of orders in whole units. The column set_in_configuration is the line that makes the program divide the prices. Refunded and deleted items are left out. If a product has several prices, the one that is nearest to a hundred times the paid amount is used. Not detected: currencies without cents.
-- param: min_pairs COUNT 10 -- smallest number of pairs
-- param: percent DECIMAL 5 -- largest distance of the median from 100, in percent
WITH sold AS (
    SELECT order_item_id, product_id, CAST(sale_price AS DOUBLE) / quantity AS paid
    FROM mart.sold_items
    WHERE sale_price > 0 AND NOT is_refunded
),
prices AS (
    SELECT product_listing_id AS product_id, unit_amount FROM product_listing_prices
    UNION ALL SELECT outlet_listing_id, unit_amount FROM outlet_listing_prices
    UNION ALL SELECT product_id, unit_amount FROM product_prices
),
factors AS (
    SELECT order_item_id, CAST(unit_amount AS DOUBLE) / paid AS factor FROM sold JOIN prices USING (product_id) WHERE unit_amount > 0
),
pairs AS (SELECT arg_min(factor, abs(ln(factor / 100))) AS factor FROM factors GROUP BY order_item_id)
SELECT count(*) AS pairs, round(median(factor), 2) AS median_factor, 'api.price_unit: minor' AS set_in_configuration
FROM pairs
HAVING count(*) >= $min_pairs AND abs(median(factor) - 100) <= CAST($percent AS DOUBLE)
