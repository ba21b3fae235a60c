-- Price moves by day
WITH params AS (
    SELECT
        CAST((SELECT at_timezone(snapshot_at, 'UTC') - INTERVAL '30' DAY FROM ${mart}.snapshot) AS DATE) AS since,
        CAST('UTC' AS VARCHAR) AS timezone
),
changes AS (
    SELECT
        CAST(at_timezone(c.changed_at, params.timezone) AS DATE) AS day,
        c.pricing_tier,
        c.currency,
        c.old_amount,
        c.new_amount,
        CAST(100 * (c.new_amount - c.old_amount) AS DOUBLE) / CAST(nullif(c.old_amount, 0) AS DOUBLE) AS percent
    FROM ${mart}.price_changes AS c
    CROSS JOIN params
    WHERE params.since IS NULL
       OR c.changed_at >= with_timezone(CAST(params.since AS TIMESTAMP(6)), params.timezone)
),
days AS (
    SELECT
        day,
        pricing_tier,
        currency,
        count(*)                                         AS changes,
        count(*) FILTER (WHERE new_amount > old_amount)  AS rises,
        count(*) FILTER (WHERE new_amount < old_amount)  AS falls,
        array_sort(array_agg(percent) FILTER (WHERE percent IS NOT NULL)) AS sorted
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
    CAST(round(element_at(sorted, CAST(ceil(0.25 * cardinality(sorted)) AS INTEGER)) * 10) / 10 AS DECIMAL(38, 1)) AS p25_percent,
    CAST(round(element_at(sorted, CAST(ceil(0.5 * cardinality(sorted)) AS INTEGER)) * 10) / 10 AS DECIMAL(38, 1))  AS median_percent,
    CAST(round(element_at(sorted, CAST(ceil(0.75 * cardinality(sorted)) AS INTEGER)) * 10) / 10 AS DECIMAL(38, 1)) AS p75_percent
FROM days
ORDER BY day, pricing_tier NULLS LAST, currency NULLS LAST
