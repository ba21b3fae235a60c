-- Refunds and add-ons by outlet or writer
WITH params AS (
    SELECT
        CAST('outlet' AS {{text}}) AS {{by}},
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS BIGINT) AS top
),
items AS (
    SELECT
        CASE WHEN params.{{by}} = 'outlet' THEN s.outlet_id ELSE coalesce(i.article_writer_id, p.writer_id) END AS group_id,
        CASE WHEN params.{{by}} = 'outlet' THEN s.outlet_name
            ELSE coalesce(nullif(trim(BOTH ' ' FROM concat_ws(' ', i.article_writer_first_name, i.article_writer_last_name)), ''), p.writer_name) END AS group_name,
        s.article_id,
        s.paid_at,
        s.sale_price,
        s.is_refunded,
        coalesce(i.refund_required, false) AND NOT s.is_refunded AS is_due,
        coalesce(profile_order_items.is_add_on, false)           AS is_add_on,
        params.top
    FROM ${mart}.sold_items AS s
    CROSS JOIN params
    JOIN ${current}.order_items AS i ON i.id = s.order_item_id
    LEFT JOIN ${mart}.article_progress AS p ON p.article_id = s.article_id
    LEFT JOIN ${current}.profile_order_items AS profile_order_items ON profile_order_items.id = s.order_item_id
    WHERE (params.since IS NULL
        OR s.paid_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR s.paid_at < {{midnight "params.until" "params.timezone"}})
),
-- If an article has two items, its add-ons are counted once.
add_on_counts AS (
    SELECT d.group_id, count(DISTINCT a.article_id) AS articles, count(*) AS add_ons
    FROM (SELECT DISTINCT group_id, article_id FROM items) AS d
    JOIN ${current}.campaign_article_addons AS a ON a.article_id = d.article_id
    GROUP BY d.group_id
),
sums AS (
    SELECT
        group_id,
        top,
        CASE WHEN group_id IS NULL THEN '(not stated)'
            ELSE max_by(group_name, {{tuple}}(coalesce(paid_at, {{utc "0001-01-01"}}), group_name))
                FILTER (WHERE group_name IS NOT NULL) END                     AS group_name,
        count(*)                                                  AS items,
        count(*) FILTER (WHERE is_refunded)                       AS refunded,
        count(*) FILTER (WHERE is_due)                            AS refund_due,
        count(*) FILTER (WHERE is_add_on)                         AS add_on_items,
        coalesce(sum(sale_price), 0)                              AS sales,
        coalesce(sum(sale_price) FILTER (WHERE is_refunded), 0)   AS refunded_sales,
        coalesce(sum(sale_price) FILTER (WHERE is_due), 0)        AS due_sales,
        coalesce(sum(sale_price) FILTER (WHERE is_add_on), 0)     AS add_on_sales
    FROM items
    GROUP BY group_id, top
),
ranked AS (
    SELECT *, row_number() OVER (ORDER BY refunded_sales DESC, items DESC, group_id NULLS LAST) AS rank
    FROM sums
)
SELECT
    g.group_id,
    g.group_name,
    g.items,
    g.refunded,
    g.refund_due,
    CAST(g.sales AS DECIMAL(18, 2))                      AS sale_total,
    CAST(g.refunded_sales AS DECIMAL(18, 2))             AS refunded_total,
    CAST(g.due_sales AS DECIMAL(18, 2))                  AS refund_due_total,
    CAST(round(CAST(100 * g.refunded AS DOUBLE) / g.items * 10) / 10 AS DECIMAL(38, 1)) AS refunded_percent,
    g.add_on_items,
    CAST(g.add_on_sales AS DECIMAL(18, 2))               AS add_on_total,
    coalesce(a.articles, 0)                              AS articles_with_add_ons,
    coalesce(a.add_ons, 0)                               AS add_ons
FROM ranked AS g
LEFT JOIN add_on_counts AS a ON a.group_id IS NOT DISTINCT FROM g.group_id
WHERE g.top IS NULL OR g.rank <= g.top
ORDER BY g.rank
