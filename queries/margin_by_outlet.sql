-- subject: margins
-- title: Margin by outlet
-- grain: one row per outlet, and one for items without an outlet
-- about: Sales and margin, the largest margin first, and the share of the sales that went to commissions. The margin is the sale price less vendor cost, internal cost, reseller price and commission; each of them is summed in a column of its own, and an unknown one counts as 0. Items without a sale price are counted but not summed; refunded items are left out unless include_refunded is set. The spec gives items no currency: the sums hold only if the team settles in one. Sums are exact and rounded to 2 places at the end; percentages are of the sales, to 1 place.
-- param: since DATE NULL -- only items whose order was paid on or after this date, UTC
-- param: include_refunded BOOLEAN false -- count refunded items too
WITH sums AS (
    SELECT
        outlet_id,
        CASE WHEN outlet_id IS NULL THEN '(not stated)'
            ELSE arg_max(outlet_name, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), outlet_name)) END AS outlet_name,
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
      AND ($since IS NULL OR paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE 'UTC')
    GROUP BY outlet_id
)
SELECT
    outlet_id,
    outlet_name,
    items,
    items_without_sale_price,
    items_without_vendor_cost,
    CAST(sales AS DECIMAL(18, 2))      AS sale_total,
    CAST(vendor AS DECIMAL(18, 2))     AS vendor_cost_total,
    CAST(internal AS DECIMAL(18, 2))   AS internal_cost_total,
    CAST(reseller AS DECIMAL(18, 2))   AS reseller_total,
    CAST(commission AS DECIMAL(18, 2)) AS commission_total,
    CAST(margin AS DECIMAL(18, 2))     AS margin_total,
    CAST(100 * margin / nullif(sales, 0) AS DECIMAL(38, 1)) AS margin_percent,
    CAST(100 * commission / nullif(sales, 0) AS DECIMAL(38, 1)) AS commission_percent
FROM sums
ORDER BY margin DESC, outlet_id
