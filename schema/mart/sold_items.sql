-- Sold items with client profile, referrer and promised delivery.
-- grain: one row per order item
CREATE VIEW mart.sold_items AS
WITH item_articles AS (
    SELECT order_item_id, min(id) AS article_id
    FROM main.campaign_articles
    WHERE order_item_id IS NOT NULL AND deleted_at IS NULL
    GROUP BY order_item_id
),
lines AS (
    SELECT order_id, id, max(quantity) AS quantity
    FROM main.order_line_items
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
        coalesce(profile_item.max_delivery_days, product.max_delivery_days, l.max_delivery_days) AS days
    FROM main.order_items AS i
    LEFT JOIN main.orders AS o ON o.id = i.order_id
    LEFT JOIN main.profile_order_items AS profile_item ON profile_item.id = i.id
    LEFT JOIN main.products AS product ON product.id = i.product_id
    LEFT JOIN main.product_listings AS l ON l.id = i.product_id
    LEFT JOIN lines ON lines.order_id = i.order_id AND lines.id = i.id
    LEFT JOIN item_articles ON item_articles.order_item_id = i.id
    LEFT JOIN mart.outlet_names AS n ON n.outlet_id = i.outlet_id
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
    CASE WHEN f.days BETWEEN 0 AND 3650 THEN f.days END                         AS promised_days,
    CASE WHEN f.days BETWEEN 0 AND 3650 THEN f.paid_at + to_hours(24 * f.days) END AS promised_at
FROM item_facts AS f
LEFT JOIN main.profiles AS p ON p.id = f.profile_id;

COMMENT ON VIEW mart.sold_items IS 'Sold items with client, referrer, article and promised delivery, one row per order item that is not marked deleted. Costs and margin of the same items are in mart.order_item_margins. The specification defines no currency for items.';
COMMENT ON COLUMN mart.sold_items.order_item_id IS 'Id of the item: order_items.id.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.order_id IS 'Id of the order: orders.id.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.paid_at IS 'When the order was paid, UTC, from the item, else from its order.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.sold_items.profile_id IS 'Id of the client profile: profiles.id, from the order, else from the profile''s order items, else from the campaign of the article.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.profile_name IS 'Name of the client profile.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.referrer_id IS 'Id of the person who referred the client; NULL if unknown.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.outlet_id IS 'Id of the outlet: outlets.id.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.outlet_name IS 'Name of the outlet.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.product_id IS 'Id of the product: products.id.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.product_name IS 'Name of the product when sold.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.article_id IS 'Id of the article that the item names, or else of the article that names the item; NULL if there is none.'; -- VARCHAR
COMMENT ON COLUMN mart.sold_items.is_refunded IS 'Whether the item has the flag is_refunded or a refund date.'; -- BOOLEAN
COMMENT ON COLUMN mart.sold_items.quantity IS 'Number of pieces, from the line item of the order; 1 if there is no such line item or its quantity is not above 0, NULL if it is above 1,000,000.'; -- BIGINT
COMMENT ON COLUMN mart.sold_items.list_price IS 'Catalog price of one piece, from the item.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.sold_items.sale_price IS 'Price that the item was sold for, all pieces together.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.sold_items.promised_days IS 'Longest time to delivery, in days, from the order item of the profile, else from the product, else from its listing; NULL if unknown, negative or over 3650.'; -- BIGINT
COMMENT ON COLUMN mart.sold_items.promised_at IS 'Payment plus promised_days, in days of 24 hours, UTC.'; -- TIMESTAMPTZ
