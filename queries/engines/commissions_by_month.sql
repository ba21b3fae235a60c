-- Commissions by month
WITH params AS (
    SELECT
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until
),
-- An item counts in the month in which its order was paid or, if that is unknown, in which the item was created.
items AS (
    SELECT
        {{month (local_date "coalesce(i.date_paid, i.created_at)" "params.timezone")}} AS month,
        i.commission_status,
        i.commission_amount AS amount,
        i.commission_date_paid IS NOT NULL AS is_paid,
        i.commission_date_paid IS NULL AND (coalesce(i.is_refunded, false) OR i.refund_date IS NOT NULL) AS counts_as_refunded,
        params.since,
        params.until
    FROM ${current}.order_items AS i
    CROSS JOIN params
    WHERE i.deleted_at IS NULL
),
sums AS (
    SELECT
        month,
        commission_status,
        count(*)                                            AS items,
        count(*) FILTER (WHERE amount IS NULL)              AS items_without_amount,
        coalesce(sum(amount), 0)                            AS commission,
        coalesce(sum(amount) FILTER (WHERE is_paid), 0)     AS paid,
        coalesce(sum(amount) FILTER (WHERE counts_as_refunded), 0)     AS refunded
    FROM items
    WHERE (since IS NULL OR month >= {{month "since"}})
      AND (until IS NULL OR month < {{month "until"}})
    GROUP BY month, commission_status
),
shares AS (
    SELECT
        *,
        commission - paid - refunded AS unpaid,
        CAST(100 * paid AS DOUBLE) / CAST(nullif(commission - refunded, 0) AS DOUBLE) AS percent
    FROM sums
)
SELECT
    month,
    commission_status,
    items,
    items_without_amount,
    CAST(commission AS DECIMAL(18, 2))                         AS commission_total,
    CAST(paid AS DECIMAL(18, 2))                               AS commission_paid,
    CAST(unpaid AS DECIMAL(18, 2))                             AS commission_unpaid,
    CAST(refunded AS DECIMAL(18, 2))                           AS commission_refunded,
    CAST(round(percent * 10) / 10 AS DECIMAL(38, 1))    AS paid_percent
FROM shares
ORDER BY month NULLS LAST, commission_status NULLS LAST
