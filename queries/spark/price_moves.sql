-- Price moves by day
WITH params AS (
    SELECT
        CAST((SELECT convert_timezone(current_timezone(), 'UTC', CAST(snapshot_at AS TIMESTAMP_NTZ)) - INTERVAL 30 DAYS FROM ${mart}.snapshot) AS DATE) AS since,
        CAST('UTC' AS STRING) AS timezone
),
changes AS (
    SELECT
        CAST(convert_timezone(current_timezone(), params.timezone, CAST(c.changed_at AS TIMESTAMP_NTZ)) AS DATE) AS day,
        c.pricing_tier,
        c.currency,
        c.old_amount,
        c.new_amount,
        CAST(100 * (c.new_amount - c.old_amount) AS DOUBLE) / CAST(nullif(c.old_amount, 0) AS DOUBLE) AS percent
    FROM ${mart}.price_changes AS c
    CROSS JOIN params
    WHERE params.since IS NULL
       OR c.changed_at >= CAST(convert_timezone(params.timezone, current_timezone(), CAST(params.since AS TIMESTAMP_NTZ)) AS TIMESTAMP)
),
days AS (
    SELECT
        day,
        pricing_tier,
        currency,
        count(*)                                         AS changes,
        count(*) FILTER (WHERE new_amount > old_amount)  AS rises,
        count(*) FILTER (WHERE new_amount < old_amount)  AS falls,
        sort_array(collect_list(percent)) AS sorted
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
    CAST(round(get(sorted, CAST(ceil(0.25 * size(sorted)) AS INT) - 1) * 10) / 10 AS DECIMAL(38, 1)) AS p25_percent,
    CAST(round(get(sorted, CAST(ceil(0.5 * size(sorted)) AS INT) - 1) * 10) / 10 AS DECIMAL(38, 1))  AS median_percent,
    CAST(round(get(sorted, CAST(ceil(0.75 * size(sorted)) AS INT) - 1) * 10) / 10 AS DECIMAL(38, 1)) AS p75_percent
FROM days
ORDER BY day, pricing_tier NULLS LAST, currency NULLS LAST
