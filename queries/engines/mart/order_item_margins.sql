-- Prices, costs and margins of sold items.
SELECT
    id        AS order_item_id,
    order_id,
    date_paid AS paid_at,
    outlet_id,
    outlet_name,
    product_id,
    product_name,
    product_type,
    coalesce(is_refunded, false) OR refund_date IS NOT NULL AS is_refunded,
    sale_price,
    vendor_cost,
    internal_cost,
    reseller_price,
    commission_amount,
    CAST(sale_price - coalesce(vendor_cost, 0) - coalesce(internal_cost, 0) - coalesce(reseller_price, 0)
        - coalesce(commission_amount, 0) AS DECIMAL(18, 6)) AS margin
FROM ${current}.order_items
WHERE deleted_at IS NULL
