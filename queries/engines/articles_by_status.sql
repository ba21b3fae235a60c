-- Articles by current status
-- Articles without a time for their status are counted, but left out of the durations.
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone
),
current_stays AS (
    SELECT
        p.status_prefix,
        p.status_name,
        p.status_since,
        {{micros "n.snapshot_at"}} - {{micros "p.status_since"}} AS stay_micros
    FROM ${mart}.article_progress AS p
    CROSS JOIN ${mart}.snapshot AS n
    CROSS JOIN params
    WHERE (params.since IS NULL
        OR p.started_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR p.started_at < {{midnight "params.until" "params.timezone"}})
),
statuses AS (
    SELECT
        status_prefix,
        CASE WHEN status_prefix IS NULL THEN '(not stated)'
            ELSE max_by(status_name, {{tuple}}(coalesce(status_since, {{utc "0001-01-01"}}), status_name))
                FILTER (WHERE status_name IS NOT NULL) END AS status_name,
        count(*)         AS articles,
        {{sorted "stay_micros"}}           AS sorted_micros,
        max(stay_micros) AS oldest_micros
    FROM current_stays
    GROUP BY status_prefix
)
SELECT
    status_prefix,
    status_name,
    articles,
    CAST(round({{quantile "sorted_micros" "0.5" (size "sorted_micros")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days_in_status,
    CAST(round(oldest_micros / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS oldest_days
FROM statuses
ORDER BY articles DESC, status_prefix NULLS LAST
