-- subject: commissions
-- severity: warn
-- title: Commissions above the sale price
-- grain: one row per order item
-- about: Order items whose commission is higher than their sale price. For a reversed sale, both amounts are negative and compared without their signs. Reason: the partner would lose money on the sale; amounts in other units or swapped fields are a likely cause. Not detected: wrong commissions below the sale price.
SELECT id, order_id, sale_price, commission_amount, commission_status
FROM order_items
WHERE abs(commission_amount) > abs(sale_price)
ORDER BY id
