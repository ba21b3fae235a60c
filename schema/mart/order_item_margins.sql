-- Prices, costs and margins of sold items.
-- grain: one row per order item
CREATE VIEW mart.order_item_margins AS
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
    -- Without the cast, the difference of large amounts would not fit its type.
    CASE WHEN i.internal_cost IS NOT NULL OR NOT stated.has_internal_costs
        THEN CAST(i.sale_price AS DECIMAL(38, 6)) - i.vendor_cost - coalesce(i.internal_cost, 0) - coalesce(i.reseller_price, 0)
            - coalesce(i.commission_amount, 0) END AS margin
FROM main.order_items AS i
LEFT JOIN main.orders AS o ON o.id = i.order_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = i.outlet_id
-- The CROSS JOIN is last, because DuckDB stores it as a comma.
CROSS JOIN (SELECT count(internal_cost) > 0 AS has_internal_costs FROM main.order_items) AS stated
WHERE i.deleted_at IS NULL;

COMMENT ON VIEW mart.order_item_margins IS 'Sold items with price, costs and margin, one row per order item that is not marked deleted. The specification defines no currency for items: sums are valid only if all items have the same currency.';
COMMENT ON COLUMN mart.order_item_margins.order_item_id IS 'Id of the item: order_items.id.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.order_id IS 'Id of the order: orders.id.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.paid_at IS 'When the order was paid, UTC, from the item, else from its order.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.order_item_margins.outlet_id IS 'Id of the outlet: outlets.id.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.outlet_name IS 'Name of the outlet.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.product_id IS 'Id of the product: products.id.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.product_name IS 'Name of the product when sold.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.product_type IS 'Type of the product.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.is_refunded IS 'Whether the item has the flag is_refunded or a refund date.'; -- BOOLEAN
COMMENT ON COLUMN mart.order_item_margins.sale_price IS 'Price that the item was sold for.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.order_item_margins.vendor_cost IS 'Amount that the vendor charges; NULL if unknown.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.order_item_margins.internal_cost IS 'Internal cost; NULL if unknown.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.order_item_margins.reseller_price IS 'Price for the reseller; NULL if unknown.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.order_item_margins.commission_amount IS 'Commission; NULL if unknown.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.order_item_margins.has_known_costs IS 'Whether the item states its vendor cost and, if any item states an internal cost, its internal cost. A reseller price or commission that is not stated counts as none.'; -- BOOLEAN
COMMENT ON COLUMN mart.order_item_margins.margin IS 'Sale price minus vendor cost, internal cost, reseller price and commission. NULL if the sale price is unknown or has_known_costs is false.'; -- DECIMAL(38,6)
