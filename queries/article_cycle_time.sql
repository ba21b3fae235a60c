-- title: Article cycle time
-- grain: one row per article status (by its stable prefix)
-- about: How long articles stay in a status. A stay lasts from one status of an article to its next by time; the last one is still open and counts in open_articles, not in the days. p50 and p90 are stays that occurred. Days are of 24 hours, rounded to 2 places. Statuses without a time are left out.
-- param: since DATE NULL -- only stays that began on or after this date, UTC
WITH stays AS (
    SELECT
        article_id,
        prefix,
        name,
        effective_at AS began_at,
        lead(effective_at) OVER (PARTITION BY article_id ORDER BY effective_at, position) AS ended_at
    FROM article_statuses
    WHERE effective_at IS NOT NULL
),
measured AS (
    SELECT *, epoch_us(ended_at) - epoch_us(began_at) AS micros
    FROM stays
    WHERE CAST($since AS DATE) IS NULL OR began_at >= CAST($since AS TIMESTAMP) AT TIME ZONE 'UTC'
),
statuses AS (
    SELECT
        prefix,
        arg_max(name, began_at)            AS name,
        count(DISTINCT article_id)         AS articles,
        count(micros)                      AS finished_stays,
        count(*) FILTER (ended_at IS NULL) AS open_articles,
        quantile_disc(micros, [0.5, 0.9])  AS quantiles,
        avg(micros)                        AS mean
    FROM measured
    GROUP BY prefix
)
SELECT
    prefix AS status_prefix,
    name   AS status_name,
    articles,
    finished_stays,
    CAST(quantiles[1] / 86400e6 AS DECIMAL(18, 2)) AS p50_days,
    CAST(quantiles[2] / 86400e6 AS DECIMAL(18, 2)) AS p90_days,
    CAST(mean / 86400e6 AS DECIMAL(18, 2))         AS mean_days,
    open_articles
FROM statuses
ORDER BY status_prefix
