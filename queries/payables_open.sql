-- subject: commissions
-- title: What is owed, item by item
-- grain: one row per order item and kind (commission, publisher, reseller) that is not paid yet
-- about: The items behind the ageing, oldest first, those of unknown age last. age_days is the time since the order was paid, in whole days of 24 hours at the snapshot. The spec gives items no currency.
-- param: kind commission|publisher|reseller NULL -- only what is owed of this kind
-- param: min_days COUNT 0 -- leave out what is younger, in days
-- param: top COUNT NULL -- only so many rows
WITH owed AS (
    SELECT *, (epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(order_paid_at)) // 86400000000 AS age_days
    FROM mart.payables
    WHERE NOT is_settled
      AND ($kind IS NULL OR kind = $kind)
)
SELECT
    kind,
    order_item_id,
    order_id,
    outlet_name,
    product_name,
    order_paid_at AS paid_at,
    age_days,
    CAST(amount AS DECIMAL(18, 2)) AS amount
FROM owed
WHERE $min_days = 0 OR age_days >= $min_days
ORDER BY order_paid_at NULLS LAST, order_item_id, kind
LIMIT $top
