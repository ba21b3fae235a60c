-- The page of an order.

-- name: head
-- Some orders are not in the table orders, but in order_items, order_line_items or profile_orders.
WITH sources AS (
    SELECT 1 AS rank, id, reference_number, profile_id, status, created_at, date_paid, total, checkout_link, valid_from
    FROM history.orders WHERE id = {id}
    UNION ALL
    SELECT 2, order_id, NULL, NULL, NULL, NULL, date_paid, NULL, NULL, valid_from FROM history.order_items WHERE order_id = {id}
    UNION ALL
    SELECT 3, order_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, valid_from FROM history.order_line_items WHERE order_id = {id}
    UNION ALL
    SELECT 4, order_id, NULL, profile_id, NULL, NULL, NULL, NULL, NULL, valid_from FROM history.profile_orders WHERE order_id = {id}
)
SELECT
    'Order ' || coalesce(o.reference_number, o.id) AS title,
    p.name AS profile, o.profile_id,
    o.status,
    o.created_at AS ordered,
    o.date_paid AS paid,
    o.total,
    o.checkout_link
FROM sources AS o
LEFT JOIN main.profiles AS p ON p.id = o.profile_id
ORDER BY o.rank, o.valid_from DESC LIMIT 1;

-- name: lines
SELECT
    coalesce(l.name, p.name) AS product, l.product_id,
    l.outlet_name AS outlet, l.outlet_id,
    l.quantity, l.price, l.is_add_on AS add_on,
    (SELECT string_agg(concat_ws(', ', i.channel_type, i.placement_type), '; ' ORDER BY i.position)
        FROM main.order_line_item_includes AS i WHERE i.order_id = l.order_id AND i.line_position = l.position) AS includes,
    l.deleted_at AS deleted
FROM main.order_line_items AS l
LEFT JOIN main.products AS p ON p.id = l.product_id
WHERE l.order_id = {id}
ORDER BY l.position;

-- name: items
-- The sold items of the order. An item is delivered when its article is first published. The column
-- promise compares the time of publication with the promised time. An open article is past its promise as in
-- mart.late_articles; for an item without an article, the time of the snapshot is compared.
SELECT
    i.product_name AS product, i.product_id,
    i.outlet_name AS outlet, i.outlet_id,
    s.quantity, CAST(i.sale_price / s.quantity AS DECIMAL(38, 6)) AS price_each, i.sale_price AS total,
    i.product_price AS list_price_each, i.vendor_cost, i.internal_cost, i.reseller_price,
    i.commission_amount AS commission, m.margin, s.promised_at AS promised,
    CASE
        WHEN m.is_refunded OR s.promised_at IS NULL THEN NULL
        WHEN a.published_at <= s.promised_at THEN 'kept'
        WHEN a.published_at IS NOT NULL THEN 'published late'
        WHEN a.state <> 'open' THEN a.state
        WHEN l.past_promise THEN 'past its promise'
        WHEN a.article_id IS NULL AND s.promised_at < (SELECT snapshot_at FROM mart.snapshot) THEN 'past its promise'
        ELSE 'due'
    END AS promise,
    m.is_refunded AS refunded, i.refund_date AS refunded_on, i.deleted_at AS deleted
FROM main.order_items AS i
LEFT JOIN mart.order_item_margins AS m ON m.order_item_id = i.id
LEFT JOIN mart.sold_items AS s ON s.order_item_id = i.id
LEFT JOIN mart.article_progress AS a ON a.article_id = s.article_id
LEFT JOIN mart.late_articles AS l ON l.article_id = a.article_id
WHERE i.order_id = {id}
ORDER BY i.created_at, i.id;

-- name: owed
-- Commissions, and the shares of publishers and of resellers. Unpaid amounts are first.
SELECT p.kind, p.product_name AS product, i.product_id, p.amount, p.is_settled AS settled, p.settled_at,
    CASE p.kind WHEN 'commission' THEN i.commission_status END AS status
FROM mart.payables AS p
JOIN main.order_items AS i ON i.id = p.order_item_id
WHERE p.order_id = {id}
ORDER BY p.is_settled, p.kind, p.order_item_id;

-- name: articles
SELECT
    coalesce(a.article_name, i.article_name) AS article, coalesce(a.article_id, i.article_id) AS article_id,
    a.campaign_name AS campaign, a.campaign_id,
    i.product_name AS product, i.product_id,
    a.status_name AS status, a.waits_for, a.status_since, coalesce(l.past_promise, false) AS past_promise,
    a.expected_at AS expected, coalesce(l.past_expected, false) AS past_expected, a.writer_name AS writer, a.live_url AS address
FROM main.order_items AS i
LEFT JOIN mart.article_progress AS a ON a.order_item_id = i.id
LEFT JOIN mart.late_articles AS l ON l.article_id = a.article_id
WHERE i.order_id = {id} AND coalesce(a.article_id, i.article_id) IS NOT NULL
ORDER BY a.started_at NULLS LAST, i.id;

-- name: waiting
-- Paid items of the order that have no article and are not refunded.
SELECT product_name AS product, product_id, outlet_name AS outlet, outlet_id, paid_at AS paid, promised_at AS promised
FROM mart.sold_items
WHERE order_id = {id} AND article_id IS NULL AND NOT is_refunded AND paid_at IS NOT NULL
ORDER BY order_item_id;

-- name: list
-- The rows of the page Orders.
SELECT
    coalesce(o.reference_number, o.id) AS "order", o.id AS order_id,
    p.name AS profile, o.profile_id,
    o.status, o.deleted_at IS NOT NULL AS deleted, o.created_at AS ordered, o.date_paid AS paid, o.total,
    coalesce(l.lines, 0) AS items,
    concat_ws(' ', o.reference_number, o.external_reference_number, o.id, p.name, o.status, o.name, o.email) AS search_text
FROM main.orders AS o
LEFT JOIN main.profiles AS p ON p.id = o.profile_id
LEFT JOIN (
    SELECT order_id, count(*) AS lines FROM main.order_line_items WHERE deleted_at IS NULL GROUP BY order_id
) AS l ON l.order_id = o.id
ORDER BY o.created_at DESC NULLS LAST, o.id;
