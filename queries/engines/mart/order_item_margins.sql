-- Prices, costs and margins of sold items.
SELECT
    i.id        AS order_item_id,
    i.order_id,
    coalesce(i.date_paid, o.date_paid)     AS paid_at,
    i.outlet_id,
    coalesce(i.outlet_name, n.outlet_name) AS outlet_name,
    i.product_id,
    i.product_name,
    i.product_type,
    coalesce(i.is_refunded, false) OR i.refund_date IS NOT NULL AS is_refunded,
    i.sale_price,
    i.vendor_cost,
    i.internal_cost,
    i.reseller_price,
    i.commission_amount,
    i.vendor_cost IS NOT NULL AND (i.internal_cost IS NOT NULL OR NOT stated.has_internal_costs) AS has_known_costs,
    CASE WHEN i.internal_cost IS NOT NULL OR NOT stated.has_internal_costs
        THEN CAST(i.sale_price - i.vendor_cost - coalesce(i.internal_cost, 0) - coalesce(i.reseller_price, 0)
            - coalesce(i.commission_amount, 0) AS DECIMAL(38, 6)) END AS margin
FROM ${current}.order_items AS i
LEFT JOIN ${current}.orders AS o ON o.id = i.order_id
LEFT JOIN ${mart}.outlet_names AS n ON n.outlet_id = i.outlet_id
CROSS JOIN (SELECT count(internal_cost) > 0 AS has_internal_costs FROM ${current}.order_items) AS stated
WHERE i.deleted_at IS NULL
