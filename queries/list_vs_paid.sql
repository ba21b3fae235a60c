-- subject: prices
-- title: List price against price paid
-- grain: one row per sold product, and one for items without a product
-- about: Catalog price of each item at the time of sale, times its quantity, compared with its sale price. The largest discount comes first. Items that lack one of the two prices, or have a quantity above 1,000,000, are counted in items_without_prices and not summed; refunded and deleted items are left out. last_list and last_paid are prices per piece, of the last item with both prices. list_now is the lowest current price, empty if the current prices have different currencies. Items have no currency: the sums are valid only if all items are in the same currency.
-- also: discount, catalog price, overpaid, difference, deal, saving, purchase
-- columns: first product_name outlet_name list_total paid_total difference difference_percent items
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: outlet VARCHAR NULL -- only items of the outlet with this id or name
-- values: SELECT DISTINCT outlet_name FROM mart.sold_items UNION SELECT outlet_id FROM mart.sold_items
-- param: currency VARCHAR NULL -- only current prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only current prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: min_percent DECIMAL 0 -- leave out smaller differences, in percent of the list price
-- param: top COUNT NULL -- maximum number of rows
WITH amounts AS (
    SELECT *, list_price * quantity AS list_amount
    FROM mart.sold_items
),
items AS (
    SELECT *, list_amount IS NOT NULL AND sale_price IS NOT NULL AS has_both_prices
    FROM amounts
    WHERE NOT is_refunded
      AND ($since IS NULL OR paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($outlet IS NULL OR $outlet IN (outlet_id, outlet_name))
),
products AS (
    SELECT
        product_id,
        CASE WHEN product_id IS NULL THEN '(not stated)'
            ELSE arg_max(product_name, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), product_name)) END AS product_name,
        CASE WHEN product_id IS NULL THEN '(not stated)'
            ELSE arg_max(outlet_name, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), outlet_name)) END AS outlet_name,
        count(*)                                               AS items,
        count(*) FILTER (NOT has_both_prices)                  AS without_prices,
        coalesce(sum(list_amount) FILTER (has_both_prices), 0) AS list_amount,
        coalesce(sum(sale_price) FILTER (has_both_prices), 0)  AS paid_amount,
        max(paid_at) FILTER (has_both_prices)                  AS last_paid_at,
        arg_max(list_price, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), order_item_id)) FILTER (has_both_prices)            AS last_list,
        arg_max(sale_price / quantity, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), order_item_id)) FILTER (has_both_prices) AS last_paid
    FROM items
    GROUP BY product_id
),
current_prices AS (
    SELECT product_listing_id AS product_id, min(unit_amount) AS list_now, min(currency) AS list_currency
    FROM product_listing_prices
    WHERE unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
    GROUP BY product_id
    HAVING min(coalesce(currency, '')) = max(coalesce(currency, ''))
),
differences AS (
    SELECT p.*, 100 * (p.paid_amount - p.list_amount) / nullif(p.list_amount, 0) AS percent, n.list_now, n.list_currency
    FROM products AS p
    LEFT JOIN current_prices AS n USING (product_id)
)
SELECT
    product_id,
    product_name,
    outlet_name,
    items,
    without_prices AS items_without_prices,
    CAST(list_amount AS DECIMAL(38, 2))               AS list_total,
    CAST(paid_amount AS DECIMAL(38, 2))               AS paid_total,
    CAST(paid_amount - list_amount AS DECIMAL(38, 2)) AS difference,
    CAST(percent AS DECIMAL(38, 1))                   AS difference_percent,
    last_paid_at,
    CAST(last_list AS DECIMAL(18, 2)) AS last_list,
    CAST(last_paid AS DECIMAL(18, 2)) AS last_paid,
    CAST(list_now AS DECIMAL(18, 2))  AS list_now,
    list_currency
FROM differences
-- At 0, also products without a percentage are shown.
WHERE CAST($min_percent AS DECIMAL(18, 6)) = 0 OR abs(percent) >= CAST($min_percent AS DECIMAL(18, 6))
ORDER BY paid_amount - list_amount, product_id
LIMIT $top
