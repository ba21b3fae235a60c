-- Article cycle time
-- A stay lasts until the next status. The last stay has no end, and is left out of the durations.
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone
),
stays AS (
    SELECT
        s.*,
        {{micros "s.ended_at"}} - {{micros "s.began_at"}} AS stay_micros,
        s.ended_at IS NULL AND d.id IS NULL AS is_open
    FROM ${mart}.article_stays AS s
    CROSS JOIN params
    LEFT JOIN ${current}.campaign_articles AS d ON d.id = s.article_id AND d.deleted_at IS NOT NULL
    WHERE (params.since IS NULL
        OR s.began_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR s.began_at < {{midnight "params.until" "params.timezone"}})
),
statuses AS (
    SELECT
        status_prefix,
        CASE WHEN status_prefix IS NULL THEN '(not stated)'
            ELSE max_by(status_name, {{tuple}}(began_at, status_name))
                FILTER (WHERE status_name IS NOT NULL) END AS status_name,
        count(DISTINCT article_id)      AS articles,
        count(stay_micros)              AS finished_stays,
        count(*) FILTER (WHERE is_open) AS open_articles,
        {{sorted "stay_micros"}}      AS sorted_micros,
        sum(stay_micros)                AS total_micros
    FROM stays
    GROUP BY status_prefix
)
SELECT
    status_prefix,
    status_name,
    articles,
    finished_stays,
    CAST(round({{quantile "sorted_micros" "0.5" (size "sorted_micros")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days,
    CAST(round({{quantile "sorted_micros" "0.9" (size "sorted_micros")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p90_days,
    CAST(round(total_micros / nullif(CAST(finished_stays AS DOUBLE), 0) / 86400e6 * 100) / 100 AS DECIMAL(18, 2))       AS mean_days,
    open_articles
FROM statuses
ORDER BY status_prefix NULLS LAST
