-- subject: margins
-- title: Margin by profile
-- grain: one row per client profile, and one for items without a profile
-- about: Sales and margin of each client, the largest margin first, and the share of the sales that went to commissions. The margin is the sale price less vendor cost, internal cost, reseller price and commission; each of them is summed in a column of its own, and an unknown one counts as 0. Items without a sale price are counted but not summed; refunded items are left out unless include_refunded is set. The spec gives items no currency: the sums hold only if the team settles in one. Sums are exact and rounded to 2 places at the end; percentages are of the sales, to 1 place.
-- param: since DATE NULL -- only items whose order was paid on or after this date, UTC
-- param: include_refunded BOOLEAN false -- count refunded items too
WITH sums AS (
    SELECT
        s.profile_id,
        CASE WHEN s.profile_id IS NULL THEN '(not stated)'
            ELSE max(s.profile_name) END AS profile_name,
        count(DISTINCT m.order_id)                                AS orders,
        count(*)                                                  AS items,
        count(*) FILTER (m.sale_price IS NULL)                    AS items_without_sale_price,
        count(*) FILTER (vendor_cost IS NULL)                     AS items_without_vendor_cost,
        coalesce(sum(m.sale_price), 0)                            AS sales,
        coalesce(sum(vendor_cost) FILTER (margin IS NOT NULL), 0)       AS vendor,
        coalesce(sum(internal_cost) FILTER (margin IS NOT NULL), 0)     AS internal,
        coalesce(sum(reseller_price) FILTER (margin IS NOT NULL), 0)    AS reseller,
        coalesce(sum(commission_amount) FILTER (margin IS NOT NULL), 0) AS commission,
        coalesce(sum(margin), 0)                                  AS margin
    FROM mart.order_item_margins AS m
    JOIN mart.sold_items AS s USING (order_item_id)
    WHERE ($include_refunded OR NOT m.is_refunded)
      AND ($since IS NULL OR m.paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE 'UTC')
    GROUP BY profile_id
)
SELECT
    profile_id,
    profile_name,
    orders,
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
ORDER BY margin DESC, profile_id
