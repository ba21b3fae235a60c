-- subject: commissions
-- title: Payables, item by item
-- grain: one row per order item and open payable (commission, publisher, reseller)
-- about: The open payables that the query payables_ageing sums. The oldest come first, payables of unknown age last. age_days is the time since the customer paid the order, in whole days of 24 hours at the snapshot. Items have no currency.
-- param: kind commission|publisher|reseller NULL -- only payables of this kind
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: min_days COUNT 0 -- minimum age in days
-- param: top COUNT NULL -- maximum number of rows
WITH open_payables AS (
    SELECT *, (epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(order_paid_at)) // 86400000000 AS age_days
    FROM mart.payables
    WHERE NOT is_settled
      AND ($kind IS NULL OR kind = $kind)
      AND ($since IS NULL OR order_paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR order_paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
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
FROM open_payables
WHERE $min_days = 0 OR age_days >= $min_days
ORDER BY order_paid_at NULLS LAST, order_item_id, kind
LIMIT $top
