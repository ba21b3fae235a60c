-- subject: margins
-- title: Margin by month
-- grain: one row per month in which the orders were paid (empty: not known)
-- about: Sales and margin. The margin is the sale price less vendor cost, internal cost, reseller price and commission; each of them is summed in a column of its own, and an unknown one counts as 0. Items without a sale price are counted but not summed; refunded items are left out unless include_refunded is set. The spec gives items no currency: the sums hold only if the team settles in one. Sums are exact and rounded to 2 places at the end; percentages are of the sales, to 1 place.
-- param: timezone TIMEZONE UTC -- time zone in which months begin, such as America/New_York
-- param: since DATE NULL -- only items whose order was paid on or after this date, in the time zone
-- param: include_refunded BOOLEAN false -- count refunded items too
WITH sums AS (
    SELECT
        CAST(date_trunc('month', paid_at AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) AS month,
        count(*)                                                  AS items,
        count(*) FILTER (sale_price IS NULL)                      AS items_without_sale_price,
        count(*) FILTER (vendor_cost IS NULL)                     AS items_without_vendor_cost,
        coalesce(sum(sale_price), 0)                              AS sales,
        coalesce(sum(vendor_cost) FILTER (margin IS NOT NULL), 0)       AS vendor,
        coalesce(sum(internal_cost) FILTER (margin IS NOT NULL), 0)     AS internal,
        coalesce(sum(reseller_price) FILTER (margin IS NOT NULL), 0)    AS reseller,
        coalesce(sum(commission_amount) FILTER (margin IS NOT NULL), 0) AS commission,
        coalesce(sum(margin), 0)                                  AS margin
    FROM mart.order_item_margins
    WHERE ($include_refunded OR NOT is_refunded)
      AND ($since IS NULL OR paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
    GROUP BY month
)
SELECT
    month,
    items,
    items_without_sale_price,
    items_without_vendor_cost,
    CAST(sales AS DECIMAL(18, 2))      AS sale_total,
    CAST(vendor AS DECIMAL(18, 2))     AS vendor_cost_total,
    CAST(internal AS DECIMAL(18, 2))   AS internal_cost_total,
    CAST(reseller AS DECIMAL(18, 2))   AS reseller_total,
    CAST(commission AS DECIMAL(18, 2)) AS commission_total,
    CAST(margin AS DECIMAL(18, 2))     AS margin_total,
    CAST(100 * margin / nullif(sales, 0) AS DECIMAL(38, 1)) AS margin_percent
FROM sums
ORDER BY month
