-- Paid and outstanding orders by month and client profile
WITH params AS (
    SELECT
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST(NULL AS {{text}}) AS profile,
        CAST('cancelled,canceled,rejected,refunded,expired' AS {{text}}) AS ended
),
dated_orders AS (
    SELECT
        {{month (local_date "coalesce(o.date_paid, o.created_at)" "params.timezone")}} AS month,
        o.profile_id,
        CASE WHEN o.profile_id IS NULL THEN '(not stated)' ELSE p.name END AS profile_name,
        o.date_paid IS NOT NULL AS is_paid,
        o.total,
        params.since,
        params.until
    FROM ${current}.orders AS o
    CROSS JOIN params
    LEFT JOIN ${current}.profiles AS p ON p.id = o.profile_id
    WHERE o.deleted_at IS NULL
      AND (o.date_paid IS NOT NULL OR NOT coalesce({{has "split(lower(params.ended), ',')" "lower(o.status)"}}, false))
      AND (params.profile IS NULL OR params.profile = o.profile_id OR params.profile = p.name)
)
SELECT
    month,
    profile_id,
    profile_name,
    count(*) FILTER (WHERE is_paid)                                              AS orders_paid,
    CAST(coalesce(sum(total) FILTER (WHERE is_paid), 0) AS DECIMAL(18, 2))       AS paid_total,
    count(*) FILTER (WHERE NOT is_paid)                                          AS orders_outstanding,
    CAST(coalesce(sum(total) FILTER (WHERE NOT is_paid), 0) AS DECIMAL(18, 2))   AS outstanding_total
FROM dated_orders
WHERE (since IS NULL OR month >= {{month "since"}})
  AND (until IS NULL OR month < {{month "until"}})
GROUP BY month, profile_id, profile_name
ORDER BY month NULLS LAST, profile_name NULLS LAST, profile_id NULLS LAST
