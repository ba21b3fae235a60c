-- subject: throughput
-- title: Backlog: paid items without an article
-- grain: one row per order item that is paid and has no article, longest waiting first
-- about: Paid items without an article. days_waiting is the time from the payment to the snapshot. days_past_promise is the time since the promised date (the payment plus the longest delivery time); it is empty if this date is unknown or not past. Both are in days of 24 hours, rounded to 2 places. Refunded and deleted items are left out. The column backlog_at_end of the query weekly_throughput counts the same items. Items have no currency.
-- also: waiting, unstarted, not started, pending, open, work, queue, delay
-- columns: first product_name days_waiting profile_name outlet_name paid_at days_past_promise
-- chart: bar x=product_name y=days_waiting
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: min_days COUNT 0 -- minimum waiting time in days
-- param: late BOOLEAN false -- only items past their promised date
-- param: top COUNT NULL -- maximum number of rows
WITH waiting_items AS (
    SELECT
        *,
        epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(paid_at)     AS waiting_micros,
        epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(promised_at) AS late_micros
    FROM mart.sold_items
    WHERE article_id IS NULL AND NOT is_refunded
      AND ($since IS NULL OR paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
)
SELECT
    order_item_id,
    order_id,
    profile_name,
    outlet_name,
    product_name,
    paid_at,
    CAST(waiting_micros / 86400e6 AS DECIMAL(18, 2)) AS days_waiting,
    promised_at,
    CASE WHEN late_micros > 0 THEN CAST(late_micros / 86400e6 AS DECIMAL(18, 2)) END AS days_past_promise,
    CAST(sale_price AS DECIMAL(18, 2)) AS sale_price
FROM waiting_items
WHERE waiting_micros >= $min_days * 86400000000
  AND (NOT $late OR late_micros > 0)
ORDER BY paid_at, order_item_id
LIMIT $top
