-- Prices, costs and margins of sold items.
-- grain: one row per order item
CREATE VIEW mart.order_item_margins AS
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
    sale_price - coalesce(vendor_cost, 0) - coalesce(internal_cost, 0) - coalesce(reseller_price, 0) - coalesce(commission_amount, 0) AS margin
FROM main.order_items
WHERE deleted_at IS NULL;

COMMENT ON VIEW mart.order_item_margins IS 'Sold items with price, costs and margin, one row per order item that is not marked deleted. The specification defines no currency for items: sums are valid only if all items have the same currency.';
COMMENT ON COLUMN mart.order_item_margins.order_item_id IS 'Id of the item: order_items.id.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.order_id IS 'Id of the order: orders.id.'; -- VARCHAR
COMMENT ON COLUMN mart.order_item_margins.paid_at IS 'When the order was paid, UTC.'; -- TIMESTAMPTZ
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
COMMENT ON COLUMN mart.order_item_margins.margin IS 'Sale price minus vendor cost, internal cost, reseller price and commission. Unknown costs count as 0. NULL if the sale price is unknown.'; -- DECIMAL(18,6)
