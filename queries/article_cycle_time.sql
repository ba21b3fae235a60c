-- subject: throughput
-- title: Article cycle time
-- grain: one row per article status (by its stable prefix)
-- about: Time that articles spend in each status. A stay in a status lasts until the next status of the article. The last stay of an article has no end: it is left out of the durations, and counts in open_articles unless the article is deleted. p50 and p90 are durations that occurred. Days have 24 hours and are rounded to 2 places. Statuses without a time are left out.
-- also: status, duration, stay, bottleneck, slow, how long, lead time
-- chart: bar x=status_name y=p50_days
-- heading: status_prefix Status code
-- heading: p50_days Days in the status, median
-- heading: p90_days Days in the status, 90th percentile
-- heading: mean_days Days in the status, mean
-- heading: open_articles Articles in it now
-- param: since DATE NULL -- only stays that began on or after this date
-- param: until DATE NULL -- only stays that began before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
WITH stays AS (
    SELECT
        *,
        epoch_us(ended_at) - epoch_us(began_at) AS stay_micros,
        ended_at IS NULL AND article_id NOT IN (SELECT id FROM campaign_articles WHERE deleted_at IS NOT NULL) AS is_open
    FROM mart.article_stays
    WHERE ($since IS NULL OR began_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR began_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
statuses AS (
    SELECT
        status_prefix,
        CASE WHEN status_prefix IS NULL THEN '(not stated)'
            ELSE arg_max(status_name, (began_at, status_name)) END AS status_name,
        count(DISTINCT article_id)             AS articles,
        count(stay_micros)                     AS finished_stays,
        count(*) FILTER (is_open)              AS open_articles,
        quantile_disc(stay_micros, [0.5, 0.9]) AS quantile_micros,
        avg(stay_micros)                       AS mean_micros
    FROM stays
    GROUP BY status_prefix
)
SELECT
    status_prefix,
    status_name,
    articles,
    finished_stays,
    CAST(quantile_micros[1] / 86400e6 AS DECIMAL(18, 2)) AS p50_days,
    CAST(quantile_micros[2] / 86400e6 AS DECIMAL(18, 2)) AS p90_days,
    CAST(mean_micros / 86400e6 AS DECIMAL(18, 2))        AS mean_days,
    open_articles
FROM statuses
ORDER BY status_prefix
