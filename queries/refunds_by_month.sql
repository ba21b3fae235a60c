-- subject: margins
-- title: Refunds by month
-- grain: one row per month in which orders were paid (empty if unknown)
-- about: Refunds of the items sold in a month. An item is refunded if it is marked as refunded or has a refund date; a refund is due if the item requires one and is not refunded. Days run from the payment of the order to the refund and have 24 hours; the median is a duration that occurred. Items have no currency: the sums are valid only if all items are in the same currency.
-- param: timezone TIMEZONE schedule.timezone -- time zone in which months begin, such as America/New_York
-- param: since DATE NULL -- only the month of this date and later months
-- param: until DATE NULL -- only months before the month of this date
WITH items AS (
    SELECT
        CAST(date_trunc('month', date_paid AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) AS month,
        is_refunded IS TRUE OR refund_date IS NOT NULL AS has_refund,
        refund_required IS TRUE AND NOT has_refund     AS is_due,
        sale_price,
        CASE WHEN refund_date >= date_paid THEN epoch_us(refund_date) - epoch_us(date_paid) END AS micros_to_refund
    FROM order_items
    WHERE deleted_at IS NULL
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
    CAST(sales AS DECIMAL(18, 2))                   AS sale_total,
    CAST(refunded_sales AS DECIMAL(18, 2))          AS refunded_total,
    CAST(due_sales AS DECIMAL(18, 2))               AS refund_due_total,
    CAST(100 * refunded / items AS DECIMAL(38, 1))  AS refunded_percent,
    CAST(median_micros / 86400e6 AS DECIMAL(18, 2)) AS p50_days_to_refund
FROM months
ORDER BY month
