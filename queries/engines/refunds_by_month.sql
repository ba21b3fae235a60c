-- Refunds by month
-- A refund is due if the item requires one and is not refunded.
WITH params AS (
    SELECT
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until
),
items AS (
    SELECT
        {{month (local_date "i.date_paid" "params.timezone")}} AS month,
        coalesce(i.is_refunded, false) OR i.refund_date IS NOT NULL                                            AS has_refund,
        coalesce(i.refund_required, false) AND NOT coalesce(i.is_refunded, false) AND i.refund_date IS NULL AS is_due,
        i.sale_price,
        CASE WHEN i.refund_date >= i.date_paid THEN {{micros "i.refund_date"}} - {{micros "i.date_paid"}} END  AS micros_to_refund,
        params.since,
        params.until
    FROM ${current}.order_items AS i
    CROSS JOIN params
    WHERE i.deleted_at IS NULL
),
months AS (
    SELECT
        month,
        count(*)                                               AS items,
        count(*) FILTER (WHERE has_refund)                     AS refunded,
        count(*) FILTER (WHERE is_due)                         AS refund_due,
        coalesce(sum(sale_price), 0)                           AS sales,
        coalesce(sum(sale_price) FILTER (WHERE has_refund), 0) AS refunded_sales,
        coalesce(sum(sale_price) FILTER (WHERE is_due), 0)     AS due_sales,
        {{sorted "micros_to_refund"}}            AS sorted_micros
    FROM items
    WHERE (since IS NULL OR month >= {{month "since"}})
      AND (until IS NULL OR month < {{month "until"}})
    GROUP BY month
)
SELECT
    month,
    items,
    refunded,
    refund_due,
    CAST(sales AS DECIMAL(18, 2))                                   AS sale_total,
    CAST(refunded_sales AS DECIMAL(18, 2))                          AS refunded_total,
    CAST(due_sales AS DECIMAL(18, 2))                               AS refund_due_total,
    CAST(round(CAST(100 * refunded AS DOUBLE) / items * 10) / 10 AS DECIMAL(38, 1))  AS refunded_percent,
    CAST(round({{quantile "sorted_micros" "0.5" (size "sorted_micros")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days_to_refund
FROM months
ORDER BY month NULLS LAST
