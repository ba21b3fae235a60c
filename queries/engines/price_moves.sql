-- Price moves by day
-- A rise from 0 has no percentage. It is counted only in the columns changes and rises.
WITH params AS (
    SELECT
        {{days_ago "30"}} AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone
),
changes AS (
    SELECT
        {{local_date "c.changed_at" "params.timezone"}} AS day,
        c.pricing_tier,
        c.currency,
        c.old_amount,
        c.new_amount,
        CAST(100 * (c.new_amount - c.old_amount) AS DOUBLE) / CAST(nullif(c.old_amount, 0) AS DOUBLE) AS percent
    FROM ${mart}.price_changes AS c
    CROSS JOIN params
    WHERE (params.since IS NULL
        OR c.changed_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR c.changed_at < {{midnight "params.until" "params.timezone"}})
),
days AS (
    SELECT
        day,
        pricing_tier,
        currency,
        count(*)                                        AS changes,
        count(*) FILTER (WHERE new_amount > old_amount) AS rises,
        count(*) FILTER (WHERE new_amount < old_amount) AS falls,
        {{sorted "percent"}} AS sorted_percents
    FROM changes
    GROUP BY day, pricing_tier, currency
)
SELECT
    day,
    pricing_tier,
    currency,
    changes,
    rises,
    falls,
    CAST(round({{quantile "sorted_percents" "0.25" (size "sorted_percents")}} * 10) / 10 AS DECIMAL(38, 1)) AS p25_percent,
    CAST(round({{quantile "sorted_percents" "0.5" (size "sorted_percents")}} * 10) / 10 AS DECIMAL(38, 1))  AS median_percent,
    CAST(round({{quantile "sorted_percents" "0.75" (size "sorted_percents")}} * 10) / 10 AS DECIMAL(38, 1)) AS p75_percent
FROM days
ORDER BY day, pricing_tier NULLS LAST, currency NULLS LAST
