-- Sold items with client profile, referrer and promised delivery.
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
        i.id                                                                                     AS order_item_id,
        i.order_id,
        coalesce(i.date_paid, o.date_paid)                                                       AS paid_at,
        coalesce(o.profile_id, profile_item.profile_id, i.article_campaign_profile_id)           AS profile_id,
        i.referrer_id,
        i.outlet_id,
        coalesce(i.outlet_name, n.outlet_name)                                                   AS outlet_name,
        i.product_id,
        i.product_name,
        coalesce(i.article_id, item_articles.article_id)                                         AS article_id,
        coalesce(i.is_refunded, false) OR i.refund_date IS NOT NULL                              AS is_refunded,
        CASE WHEN lines.quantity > 1000000 THEN NULL WHEN lines.quantity > 0 THEN lines.quantity ELSE 1 END AS quantity,
        i.product_price                                                                          AS list_price,
        i.sale_price,
        coalesce(profile_item.max_delivery_days, product.max_delivery_days, l.max_delivery_days) AS delivery_days
    FROM ${current}.order_items AS i
    LEFT JOIN ${current}.orders AS o ON o.id = i.order_id
    LEFT JOIN ${current}.profile_order_items AS profile_item ON profile_item.id = i.id
    LEFT JOIN ${current}.products AS product ON product.id = i.product_id
    LEFT JOIN ${current}.product_listings AS l ON l.id = i.product_id
    LEFT JOIN lines ON lines.order_id = i.order_id AND lines.id = i.id
    LEFT JOIN item_articles ON item_articles.order_item_id = i.id
    LEFT JOIN ${mart}.outlet_names AS n ON n.outlet_id = i.outlet_id
    WHERE i.deleted_at IS NULL
)
SELECT
    f.order_item_id,
    f.order_id,
    f.paid_at,
    f.profile_id,
    p.name AS profile_name,
    f.referrer_id,
    f.outlet_id,
    f.outlet_name,
    f.product_id,
    f.product_name,
    f.article_id,
    f.is_refunded,
    f.quantity,
    f.list_price,
    f.sale_price,
    CASE WHEN f.delivery_days BETWEEN 0 AND 3650 THEN f.delivery_days END                         AS promised_days,
{{- if spark}}
    CASE WHEN f.delivery_days BETWEEN 0 AND 3650 THEN timestamp_micros(unix_micros(f.paid_at) + 86400000000 * f.delivery_days) END AS promised_at
{{- else}}
    CASE WHEN f.delivery_days BETWEEN 0 AND 3650 THEN date_add('hour', 24 * f.delivery_days, f.paid_at) END AS promised_at
{{- end}}
FROM item_facts AS f
LEFT JOIN ${current}.profiles AS p ON p.id = f.profile_id
