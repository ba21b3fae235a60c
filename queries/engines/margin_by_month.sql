-- Margin by month
WITH params AS (
    SELECT
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS DATE) AS since,
        CAST(false AS BOOLEAN) AS include_refunded
),
items AS (
    SELECT
        m.*,
        {{month (local_date "m.paid_at" "params.timezone")}} AS month
    FROM ${mart}.order_item_margins AS m
    CROSS JOIN params
    WHERE (params.include_refunded OR NOT m.is_refunded)
      AND (params.since IS NULL
        OR m.paid_at >= {{midnight "params.since" "params.timezone"}})
),
sums AS (
    SELECT
        month,
        count(*)                                                              AS items,
        count(*) FILTER (WHERE sale_price IS NULL)                            AS items_without_sale_price,
        count(*) FILTER (WHERE vendor_cost IS NULL)                           AS items_without_vendor_cost,
        coalesce(sum(sale_price), 0)                                          AS sales,
        coalesce(sum(vendor_cost) FILTER (WHERE margin IS NOT NULL), 0)       AS vendor,
        coalesce(sum(internal_cost) FILTER (WHERE margin IS NOT NULL), 0)     AS internal,
        coalesce(sum(reseller_price) FILTER (WHERE margin IS NOT NULL), 0)    AS reseller,
        coalesce(sum(commission_amount) FILTER (WHERE margin IS NOT NULL), 0) AS commission,
        coalesce(sum(margin), 0)                                              AS margin
    FROM items
    GROUP BY month
),
shares AS (
    SELECT *, CAST(100 * margin AS DOUBLE) / CAST(nullif(sales, 0) AS DOUBLE) AS percent FROM sums
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
    CAST(round(percent * 10) / 10 AS DECIMAL(38, 1)) AS margin_percent
FROM shares
ORDER BY month NULLS LAST
