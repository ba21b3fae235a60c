-- Sold items with client, referrer and promised delivery.
WITH item_articles AS (
    SELECT order_item_id, min(id) AS article_id
    FROM ${current}.campaign_articles
    WHERE order_item_id IS NOT NULL AND deleted_at IS NULL
    GROUP BY order_item_id
),
lines AS (
    SELECT order_id, id, max(quantity) AS quantity
    FROM ${current}.order_line_items
    WHERE id IS NOT NULL
    GROUP BY order_id, id
),
item_facts AS (
    SELECT
        i.id                                                                        AS order_item_id,
        i.order_id,
        i.date_paid                                                                 AS paid_at,
        coalesce(o.profile_id, f.profile_id, i.article_campaign_profile_id)         AS profile_id,
        i.referrer_id,
        i.outlet_id,
        i.outlet_name,
        i.product_id,
        i.product_name,
        coalesce(i.article_id, w.article_id)                                        AS article_id,
        coalesce(i.is_refunded, false) OR i.refund_date IS NOT NULL                 AS is_refunded,
        CASE WHEN n.quantity > 0 THEN n.quantity ELSE 1 END                         AS quantity,
        i.product_price                                                             AS list_price,
        i.sale_price,
        coalesce(f.max_delivery_days, d.max_delivery_days, l.max_delivery_days)     AS days
    FROM ${current}.order_items AS i
    LEFT JOIN ${current}.orders AS o ON o.id = i.order_id
    LEFT JOIN ${current}.profile_order_items AS f ON f.id = i.id
    LEFT JOIN ${current}.products AS d ON d.id = i.product_id
    LEFT JOIN ${current}.product_listings AS l ON l.id = i.product_id
    LEFT JOIN lines AS n ON n.order_id = i.order_id AND n.id = i.id
    LEFT JOIN item_articles AS w ON w.order_item_id = i.id
    WHERE i.deleted_at IS NULL
)
SELECT
    k.order_item_id,
    k.order_id,
    k.paid_at,
    k.profile_id,
    p.name AS profile_name,
    k.referrer_id,
    k.outlet_id,
    k.outlet_name,
    k.product_id,
    k.product_name,
    k.article_id,
    k.is_refunded,
    k.quantity,
    k.list_price,
    k.sale_price,
    CASE WHEN k.days BETWEEN 0 AND 3650 THEN k.days END                         AS promised_days,
{{- if spark}}
    CASE WHEN k.days BETWEEN 0 AND 3650 THEN timestamp_micros(unix_micros(k.paid_at) + 86400000000 * k.days) END AS promised_at
{{- else}}
    CASE WHEN k.days BETWEEN 0 AND 3650 THEN date_add('hour', 24 * k.days, k.paid_at) END AS promised_at
{{- end}}
FROM item_facts AS k
LEFT JOIN ${current}.profiles AS p ON p.id = k.profile_id
