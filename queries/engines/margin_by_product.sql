-- Margin by product
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(false AS BOOLEAN) AS include_refunded
),
sums AS (
    SELECT
        m.product_id,
        CASE WHEN m.product_id IS NULL THEN '(not stated)'
            ELSE max_by(m.product_name, {{tuple}}(coalesce(m.paid_at, {{utc "0001-01-01"}}), m.product_name))
                FILTER (WHERE m.product_name IS NOT NULL) END AS product_name,
        CASE WHEN m.product_id IS NULL THEN '(not stated)'
            ELSE max_by(m.product_type, {{tuple}}(coalesce(m.paid_at, {{utc "0001-01-01"}}), m.product_type))
                FILTER (WHERE m.product_type IS NOT NULL) END AS product_type,
        count(*)                                                              AS items,
        count(*) FILTER (WHERE m.sale_price IS NULL)                          AS items_without_sale_price,
        count(*) FILTER (WHERE m.vendor_cost IS NULL)                         AS items_without_vendor_cost,
        coalesce(sum(m.sale_price), 0)                                        AS sales,
        coalesce(sum(m.vendor_cost) FILTER (WHERE m.margin IS NOT NULL), 0)       AS vendor,
        coalesce(sum(m.internal_cost) FILTER (WHERE m.margin IS NOT NULL), 0)     AS internal,
        coalesce(sum(m.reseller_price) FILTER (WHERE m.margin IS NOT NULL), 0)    AS reseller,
        coalesce(sum(m.commission_amount) FILTER (WHERE m.margin IS NOT NULL), 0) AS commission,
        coalesce(sum(m.margin), 0)                                            AS margin
    FROM ${mart}.order_item_margins AS m
    CROSS JOIN params
    WHERE (params.include_refunded OR NOT m.is_refunded)
      AND (params.since IS NULL
        OR m.paid_at >= {{midnight "params.since" "'UTC'"}})
    GROUP BY m.product_id
),
shares AS (
    SELECT *, CAST(100 * margin AS DOUBLE) / CAST(nullif(sales, 0) AS DOUBLE) AS percent FROM sums
)
SELECT
    product_id,
    product_name,
    product_type,
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
ORDER BY margin DESC, product_id NULLS LAST
