-- subject: prices
-- title: Price moves by day
-- grain: one row per day, tier and currency with a change
-- about: Price rises and falls by day. The quartiles are in percent of the old price, rounded to 1 place. They are not interpolated. The day is the day of the snapshot that showed the change. A rise from 0 has no percentage: it is counted only in the columns changes and rises.
-- also: increase, decrease, trend, volatility, rise, fall, per day
-- chart: bar x=day y=rises,falls
-- heading: p25_percent Change, %, lower quartile
-- heading: median_percent Change, %, median
-- heading: p75_percent Change, %, upper quartile
-- param: since DATE? snapshot-30d -- only days on or after this date
-- param: until DATE NULL -- only days before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which days begin, such as America/New_York
WITH changes AS (
    SELECT *, 100 * (CAST(new_amount AS DECIMAL(38, 6)) - old_amount) / nullif(old_amount, 0) AS percent
    FROM mart.price_changes
    WHERE ($since IS NULL OR changed_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR changed_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
days AS (
    SELECT
        CAST(changed_at AT TIME ZONE CAST($timezone AS VARCHAR) AS DATE) AS day,
        pricing_tier,
        currency,
        count(*)                                         AS changes,
        count(*) FILTER (new_amount > old_amount)        AS rises,
        count(*) FILTER (new_amount < old_amount)        AS falls,
        quantile_disc(percent, [0.25, 0.5, 0.75])        AS quartiles
    FROM changes
    GROUP BY ALL
)
SELECT
    day,
    pricing_tier,
    currency,
    changes,
    rises,
    falls,
    CAST(quartiles[1] AS DECIMAL(38, 1)) AS p25_percent,
    CAST(quartiles[2] AS DECIMAL(38, 1)) AS median_percent,
    CAST(quartiles[3] AS DECIMAL(38, 1)) AS p75_percent
FROM days
ORDER BY day, pricing_tier, currency
