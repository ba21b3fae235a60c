-- subject: orders
-- severity: warn
-- title: Sale prices far below the list price
-- grain: one row per order item
-- about: Order items sold at a discount of more than 90 % on the list price of the product at the time of the sale. Reason: the amounts may be in other units, or a part of the price may be missing. Not detected: errors within the allowed discount, and prices in another currency.
-- param: percent DECIMAL 90 -- largest allowed discount, in percent
SELECT id, order_id, product_id, product_price, sale_price
FROM order_items
WHERE sale_price >= 0 AND sale_price < CAST(product_price AS DECIMAL(38, 6)) * (100 - CAST($percent AS DECIMAL(9, 3))) / 100
ORDER BY id
