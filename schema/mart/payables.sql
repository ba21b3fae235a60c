-- Payables of sold items: commissions, and the shares of publishers and resellers.
-- grain: one row per order item and kind
CREATE VIEW mart.payables AS
WITH items AS (
    SELECT i.*, coalesce(i.date_paid, o.date_paid) AS order_paid_at, coalesce(i.outlet_name, n.outlet_name) AS known_outlet_name
    FROM main.order_items AS i
    LEFT JOIN main.orders AS o ON o.id = i.order_id
    LEFT JOIN mart.outlet_names AS n ON n.outlet_id = i.outlet_id
    WHERE i.deleted_at IS NULL AND i.is_refunded IS NOT TRUE AND i.refund_date IS NULL
),
item_payables AS (
    SELECT 'commission' AS kind, *, commission_amount AS amount, commission_date_paid AS settled_at,
        commission_date_paid IS NOT NULL AS is_settled
    FROM items
    UNION ALL
    SELECT 'publisher', *, vendor_cost, coalesce(publisher_paid_date, vendor_paid_date),
        is_publisher_paid IS TRUE OR publisher_paid_date IS NOT NULL OR vendor_paid_date IS NOT NULL
    FROM items
    UNION ALL
    SELECT 'reseller', *, reseller_price, reseller_paid_date, is_reseller_paid IS TRUE OR reseller_paid_date IS NOT NULL
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
WHERE amount <> 0;

COMMENT ON VIEW mart.payables IS 'Payables of sold items, paid or not, one row per item and kind with an amount. Items that were refunded or are marked deleted are left out. The specification defines no currency for items.';
COMMENT ON COLUMN mart.payables.kind IS 'commission (commission_amount), publisher (vendor_cost) or reseller (reseller_price).'; -- VARCHAR
COMMENT ON COLUMN mart.payables.order_item_id IS 'Id of the item: order_items.id.'; -- VARCHAR
COMMENT ON COLUMN mart.payables.order_id IS 'Id of the order: orders.id.'; -- VARCHAR
COMMENT ON COLUMN mart.payables.outlet_id IS 'Id of the outlet: outlets.id.'; -- VARCHAR
COMMENT ON COLUMN mart.payables.outlet_name IS 'Name of the outlet.'; -- VARCHAR
COMMENT ON COLUMN mart.payables.product_name IS 'Name of the product when sold.'; -- VARCHAR
COMMENT ON COLUMN mart.payables.order_paid_at IS 'When the order was paid, UTC, from the item, else from its order; NULL if unknown.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.payables.amount IS 'Amount of the payable.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.payables.is_settled IS 'Whether the payable is paid. A commission is paid if it has a payment date. The share of a publisher or reseller is paid if its flag or its payment date is set; for a publisher the payment date of the vendor counts too.'; -- BOOLEAN
COMMENT ON COLUMN mart.payables.settled_at IS 'When the payable was paid, UTC; NULL if it is unpaid or only the flag is set.'; -- TIMESTAMPTZ
