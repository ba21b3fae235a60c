-- subject: orders
-- title: Orders unpaid or pending
-- grain: one row per order that is unpaid, or paid and not fulfilled, oldest first
-- about: Unpaid and pending orders. An order is unpaid if it has no payment date, and pending if it is paid and not fulfilled. Deleted and ended orders are left out. age_days is the time since the order was created, or since it was paid if it is pending, in whole days of 24 hours at the snapshot. items_without_article counts the sold items that have no article and are not refunded. Orders have no currency.
-- also: unfulfilled, outstanding, waiting, unpaid, invoice, age, receivable, owe, owed
-- columns: first reference_number state profile_name order_total age_days order_status
-- chart: bar x=reference_number y=age_days
-- param: state unpaid|pending NULL -- only orders in this state
-- param: since DATE NULL -- only orders created on or after this date
-- param: until DATE NULL -- only orders created before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: min_days COUNT 0 -- minimum age in days
-- param: done STATUSES statuses.orders_fulfilled -- order statuses that mean fulfilled, in upper or lower case, separated by commas
-- param: ended STATUSES statuses.orders_ended -- order statuses that mean ended without being fulfilled
-- param: top COUNT NULL -- maximum number of rows
WITH line_counts AS (
    SELECT order_id, count(*) AS line_items FROM order_line_items WHERE deleted_at IS NULL GROUP BY order_id
),
items_without_article AS (
    SELECT order_id, count(*) AS items FROM mart.sold_items WHERE article_id IS NULL AND NOT is_refunded GROUP BY order_id
),
open_orders AS (
    SELECT
        *,
        CASE WHEN date_paid IS NULL THEN 'unpaid' ELSE 'pending' END AS state,
        coalesce(date_paid, created_at)                              AS open_since,
        (epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(open_since)) // 86400000000 AS age_days
    FROM orders
    WHERE deleted_at IS NULL
      AND list_contains(string_split(lower($ended), ','), lower(status)) IS NOT TRUE
      AND (date_paid IS NULL OR list_contains(string_split(lower($done), ','), lower(status)) IS NOT TRUE)
      AND ($since IS NULL OR created_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR created_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
)
SELECT
    o.state,
    o.id     AS order_id,
    o.reference_number,
    p.name   AS profile_name,
    o.status AS order_status,
    o.created_at,
    o.date_paid AS paid_at,
    o.age_days,
    CAST(o.total AS DECIMAL(18, 2)) AS order_total,
    coalesce(l.line_items, 0)       AS line_items,
    coalesce(u.items, 0)            AS items_without_article
FROM open_orders AS o
LEFT JOIN profiles AS p ON p.id = o.profile_id
LEFT JOIN line_counts AS l ON l.order_id = o.id
LEFT JOIN items_without_article AS u ON u.order_id = o.id
WHERE ($state IS NULL OR o.state = $state)
  AND ($min_days = 0 OR o.age_days >= $min_days)
ORDER BY o.open_since NULLS LAST, o.id
LIMIT $top
