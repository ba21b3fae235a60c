-- Payables by age
-- Unpaid commissions, vendor costs and reseller prices of sold items, grouped by the days since the order was paid.
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone
),
open_payables AS (
    SELECT
        p.kind,
        p.amount,
        ({{micros "n.snapshot_at"}} - {{micros "p.order_paid_at"}}) {{div}} 86400000000 AS age_days
    FROM ${mart}.payables AS p
    CROSS JOIN ${mart}.snapshot AS n
    CROSS JOIN params
    WHERE NOT p.is_settled
      AND (params.since IS NULL
        OR p.order_paid_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR p.order_paid_at < {{midnight "params.until" "params.timezone"}})
),
aged_payables AS (
    SELECT
        *,
        CASE
            WHEN age_days IS NULL THEN 5
            WHEN age_days <= 30 THEN 1
            WHEN age_days <= 60 THEN 2
            WHEN age_days <= 90 THEN 3
            ELSE 4
        END AS band
    FROM open_payables
),
bands AS (
    SELECT k.kind, b.band, b.age_band
    FROM (VALUES ('commission'), ('publisher'), ('reseller')) AS k (kind)
    CROSS JOIN (VALUES (1, '0-30 days'), (2, '31-60 days'), (3, '61-90 days'), (4, 'over 90 days'), (5, 'unknown')) AS b (band, age_band)
),
sums AS (
    SELECT
        b.kind,
        b.band,
        b.age_band,
        count(i.amount)                                     AS items,
        CAST(coalesce(sum(i.amount), 0) AS DECIMAL(18, 2))  AS amount,
        max(i.age_days)                                     AS oldest_days
    FROM bands AS b
    LEFT JOIN aged_payables AS i ON i.kind = b.kind AND i.band = b.band
    GROUP BY b.kind, b.band, b.age_band
)
SELECT
    kind,
    age_band,
    items,
    amount,
    oldest_days
FROM sums
ORDER BY kind, band
