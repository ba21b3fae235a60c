-- Articles by present status
WITH standing AS (
    SELECT
        p.status_prefix,
        p.status_name,
        p.status_since,
        CAST(round(to_unixtime(n.snapshot_at) * 1e6) AS BIGINT) - CAST(round(to_unixtime(p.status_since) * 1e6) AS BIGINT) AS micros
    FROM ${mart}.article_progress AS p
    CROSS JOIN ${mart}.snapshot AS n
),
statuses AS (
    SELECT
        status_prefix,
        CASE WHEN status_prefix IS NULL THEN '(not stated)'
            ELSE max_by(status_name, ROW(coalesce(status_since, TIMESTAMP '0001-01-01 00:00:00 UTC'), status_name))
                FILTER (WHERE status_name IS NOT NULL) END AS status_name,
        count(*)                                   AS articles,
        array_sort(array_agg(micros) FILTER (WHERE micros IS NOT NULL))           AS sorted,
        max(micros)                                AS oldest
    FROM standing
    GROUP BY status_prefix
)
SELECT
    status_prefix,
    status_name,
    articles,
    CAST(round(element_at(sorted, CAST(ceil(0.5 * cardinality(sorted)) AS INTEGER)) / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days_in_status,
    CAST(round(oldest / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS oldest_days
FROM statuses
ORDER BY articles DESC, status_prefix NULLS LAST
