-- Sales and margin
WITH params AS (
    SELECT
        CAST('month' AS {{text}}) AS {{by}},
        CAST(false AS BOOLEAN) AS monthly,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(false AS BOOLEAN) AS include_refunded,
        CAST(NULL AS BIGINT) AS top
),
items AS (
    SELECT
        m.*,
        CASE params.{{by}}
            WHEN 'month' THEN CAST({{month (local_date "m.paid_at" "params.timezone")}} AS {{text}})
            WHEN 'outlet' THEN m.outlet_id
            WHEN 'profile' THEN s.profile_id
            WHEN 'product' THEN m.product_id
            WHEN 'referrer' THEN s.referrer_id
            ELSE coalesce(i.article_writer_id, p.writer_id)
        END AS group_id,
        CASE params.{{by}}
            WHEN 'month' THEN substr(CAST({{local_date "m.paid_at" "params.timezone"}} AS {{text}}), 1, 7)
            WHEN 'outlet' THEN m.outlet_name
            WHEN 'profile' THEN s.profile_name
            WHEN 'product' THEN m.product_name
            WHEN 'writer' THEN coalesce(nullif(trim(BOTH ' ' FROM concat_ws(' ', i.article_writer_first_name, i.article_writer_last_name)), ''), p.writer_name)
        END AS group_name,
        CASE WHEN params.monthly THEN {{month (local_date "m.paid_at" "params.timezone")}} END AS month,
        params.{{by}} = 'month' AS grouped_by_month,
        params.top
    FROM ${mart}.order_item_margins AS m
    CROSS JOIN params
    JOIN ${mart}.sold_items AS s ON s.order_item_id = m.order_item_id
    JOIN ${current}.order_items AS i ON i.id = m.order_item_id
    LEFT JOIN ${mart}.article_progress AS p ON p.article_id = s.article_id
    WHERE (params.include_refunded OR NOT m.is_refunded)
      AND (params.since IS NULL
        OR m.paid_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR m.paid_at < {{midnight "params.until" "params.timezone"}})
),
-- The name of a group is the name in the item that was paid last.
sums AS (
    SELECT
        group_id,
        month,
        grouped_by_month,
        top,
        CASE WHEN group_id IS NULL THEN '(not stated)'
            ELSE max_by(group_name, {{tuple}}(coalesce(paid_at, {{utc "0001-01-01"}}), group_name))
                FILTER (WHERE group_name IS NOT NULL) END                             AS group_name,
        count(DISTINCT order_id)                                              AS orders,
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
    GROUP BY group_id, month, grouped_by_month, top
),
shares AS (
    SELECT
        *,
        CAST(100 * margin AS DOUBLE) / CAST(nullif(sales, 0) AS DOUBLE)     AS margin_percent,
        CAST(100 * commission AS DOUBLE) / CAST(nullif(sales, 0) AS DOUBLE) AS commission_percent,
        row_number() OVER (ORDER BY CASE WHEN grouped_by_month THEN group_id END NULLS LAST, month NULLS LAST, margin DESC, group_id NULLS LAST) AS rank
    FROM sums
)
SELECT
    group_id,
    group_name,
    month,
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
    CAST(round(margin_percent * 10) / 10 AS DECIMAL(38, 1)) AS margin_percent,
    CAST(round(commission_percent * 10) / 10 AS DECIMAL(38, 1)) AS commission_percent
FROM shares
WHERE top IS NULL OR rank <= top
ORDER BY rank
