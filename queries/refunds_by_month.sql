-- subject: margins
-- title: Refunds by month
-- grain: one row per month in which orders were paid (empty if unknown)
-- about: Refunds of the items sold in a month. An item is refunded if it is marked as refunded or has a refund date; a refund is due if the item requires one and is not refunded. Days run from the payment of the order to the refund and have 24 hours; the median is a duration that occurred. Items have no currency: the sums are valid only if all items are in the same currency.
-- also: refunded, returned, cancelled, money back, lost revenue
-- chart: bar x=month y=refunded_total
-- heading: p50_days_to_refund Days from payment to refund, median
-- param: timezone TIMEZONE schedule.timezone -- time zone in which months begin, such as America/New_York
-- param: since DATE NULL -- only the month of this date and later months
-- param: until DATE NULL -- only months before the month of this date
WITH items AS (
    SELECT
        CAST(date_trunc('month', m.paid_at AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) AS month,
        m.is_refunded                                   AS has_refund,
        i.refund_required IS TRUE AND NOT m.is_refunded AS is_due,
        m.sale_price,
        CASE WHEN i.refund_date >= m.paid_at THEN epoch_us(i.refund_date) - epoch_us(m.paid_at) END AS micros_to_refund
    FROM mart.order_item_margins AS m
    JOIN order_items AS i ON i.id = m.order_item_id
),
months AS (
    SELECT
        month,
        count(*)                                         AS items,
        count(*) FILTER (has_refund)                     AS refunded,
        count(*) FILTER (is_due)                         AS refund_due,
        coalesce(sum(sale_price), 0)                     AS sales,
        coalesce(sum(sale_price) FILTER (has_refund), 0) AS refunded_sales,
        coalesce(sum(sale_price) FILTER (is_due), 0)        AS due_sales,
        quantile_disc(micros_to_refund, 0.5)             AS median_micros
    FROM items
    WHERE ($since IS NULL OR month >= date_trunc('month', CAST($since AS DATE)))
      AND ($until IS NULL OR month < date_trunc('month', CAST($until AS DATE)))
    GROUP BY month
)
SELECT
    month,
    items,
    refunded,
    refund_due,
    CAST(sales AS DECIMAL(38, 2))                   AS sale_total,
    CAST(refunded_sales AS DECIMAL(38, 2))          AS refunded_total,
    CAST(due_sales AS DECIMAL(38, 2))               AS refund_due_total,
    CAST(100 * refunded / items AS DECIMAL(38, 1))  AS refunded_percent,
    CAST(median_micros / 86400e6 AS DECIMAL(18, 2)) AS p50_days_to_refund
FROM months
ORDER BY month
