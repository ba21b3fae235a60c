-- Payables of sold items: commissions, and the shares of publishers and resellers.
WITH items AS (
    SELECT i.*, coalesce(i.date_paid, o.date_paid) AS order_paid_at, coalesce(i.outlet_name, n.outlet_name) AS known_outlet_name
    FROM ${current}.order_items AS i
    LEFT JOIN ${current}.orders AS o ON o.id = i.order_id
    LEFT JOIN ${mart}.outlet_names AS n ON n.outlet_id = i.outlet_id
    WHERE i.deleted_at IS NULL AND NOT coalesce(i.is_refunded, false) AND i.refund_date IS NULL
),
item_payables AS (
    SELECT 'commission' AS kind, id, order_id, outlet_id, known_outlet_name, product_name, order_paid_at,
        commission_amount AS amount, commission_date_paid IS NOT NULL AS is_settled, commission_date_paid AS settled_at
    FROM items
    UNION ALL
    SELECT 'publisher', id, order_id, outlet_id, known_outlet_name, product_name, order_paid_at, vendor_cost,
        coalesce(is_publisher_paid, false) OR publisher_paid_date IS NOT NULL OR vendor_paid_date IS NOT NULL,
        coalesce(publisher_paid_date, vendor_paid_date)
    FROM items
    UNION ALL
    SELECT 'reseller', id, order_id, outlet_id, known_outlet_name, product_name, order_paid_at, reseller_price,
        coalesce(is_reseller_paid, false) OR reseller_paid_date IS NOT NULL, reseller_paid_date
    FROM items
)
SELECT
    kind,
    id        AS order_item_id,
    order_id,
    outlet_id,
    known_outlet_name AS outlet_name,
    product_name,
    order_paid_at,
    amount,
    is_settled,
    settled_at
FROM item_payables
WHERE amount <> 0
