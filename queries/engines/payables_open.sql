-- Payables, item by item
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS kind,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(0 AS BIGINT) AS min_days,
        CAST(NULL AS BIGINT) AS top
),
open_payables AS (
    SELECT p.*, params.min_days, params.top, ({{micros "n.snapshot_at"}} - {{micros "p.order_paid_at"}}) {{div}} 86400000000 AS age_days
    FROM ${mart}.payables AS p
    CROSS JOIN ${mart}.snapshot AS n
    CROSS JOIN params
    WHERE NOT p.is_settled
      AND (params.kind IS NULL OR p.kind = params.kind)
      AND (params.since IS NULL
        OR p.order_paid_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR p.order_paid_at < {{midnight "params.until" "params.timezone"}})
),
ranked_payables AS (
    SELECT *, row_number() OVER (ORDER BY order_paid_at NULLS LAST, order_item_id, kind) AS rank
    FROM open_payables
    WHERE min_days = 0 OR age_days >= min_days
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
FROM ranked_payables
WHERE top IS NULL OR rank <= top
ORDER BY rank
