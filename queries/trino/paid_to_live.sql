-- From order paid to live
WITH params AS (
    SELECT
        CAST('UTC' AS VARCHAR) AS timezone,
        CAST(NULL AS DATE) AS since,
        CAST('published,live' AS VARCHAR) AS published
),
live AS (
    SELECT s.article_id, min(s.began_at) AS published_at
    FROM ${mart}.article_stays AS s
    CROSS JOIN params
    WHERE contains(split(params.published, ','), s.status_prefix)
    GROUP BY s.article_id
),
spans AS (
    SELECT
        date_trunc('month', CAST(at_timezone(l.published_at, params.timezone) AS DATE)) AS month,
        p.order_paid_at IS NULL          AS unpaid,
        l.published_at < p.order_paid_at AS early,
        CASE WHEN l.published_at >= p.order_paid_at THEN CAST(round(to_unixtime(l.published_at) * 1e6) AS BIGINT) - CAST(round(to_unixtime(p.order_paid_at) * 1e6) AS BIGINT) END AS micros,
        CASE WHEN l.published_at >= p.order_paid_at THEN CAST(round(to_unixtime(p.started_at) * 1e6) AS BIGINT) - CAST(round(to_unixtime(p.order_paid_at) * 1e6) AS BIGINT) END   AS start_micros,
        params.since
    FROM live AS l
    JOIN ${mart}.article_progress AS p ON p.article_id = l.article_id
    CROSS JOIN params
),
months AS (
    SELECT
        month,
        count(*)                               AS articles,
        count(*) FILTER (WHERE unpaid)         AS unpaid,
        count(*) FILTER (WHERE early)          AS early,
        array_sort(array_agg(micros) FILTER (WHERE micros IS NOT NULL))       AS sorted,
        sum(micros)                            AS total,
        array_sort(array_agg(start_micros) FILTER (WHERE start_micros IS NOT NULL)) AS starts
    FROM spans
    WHERE since IS NULL OR month >= date_trunc('month', since)
    GROUP BY month
)
SELECT
    month,
    articles,
    unpaid AS articles_without_payment,
    early  AS articles_live_before_payment,
    CAST(round(element_at(sorted, CAST(ceil(0.5 * cardinality(sorted)) AS INTEGER)) / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days,
    CAST(round(element_at(sorted, CAST(ceil(0.9 * cardinality(sorted)) AS INTEGER)) / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p90_days,
    CAST(round(total / nullif(CAST(cardinality(sorted) AS DOUBLE), 0) / 86400e6 * 100) / 100 AS DECIMAL(18, 2))         AS mean_days,
    CAST(round(element_at(starts, CAST(ceil(0.5 * cardinality(starts)) AS INTEGER)) / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days_to_start
FROM months
ORDER BY month NULLS LAST
