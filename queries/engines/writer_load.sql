-- Workload of writers
-- Open articles are neither published nor ended.
WITH params AS (
    SELECT
        CAST(30 AS BIGINT) AS days,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST('published,live' AS {{text}}) AS published,
        CAST('cancelled,canceled,rejected,archived' AS {{text}}) AS ended,
        CAST('revision_requested' AS {{text}}) AS revision
),
period_end AS (
    SELECT
        n.snapshot_at,
        params.*,
        coalesce(least({{micros (midnight "params.until" "params.timezone")}} - 1, {{micros "n.snapshot_at"}}), {{micros "n.snapshot_at"}}) AS last_us
    FROM ${mart}.snapshot AS n
    CROSS JOIN params
),
period AS (
    SELECT
        period_end.*,
        coalesce({{micros (midnight "since" "timezone")}}, last_us - days * 86400000000 + 1) AS first_us
    FROM period_end
),
publications AS (
    SELECT s.article_id, min(s.began_at) AS published_at
    FROM ${mart}.article_stays AS s
    CROSS JOIN params
    WHERE {{has "split(params.published, ',')" "s.status_prefix"}}
    GROUP BY s.article_id
),
article_loads AS (
    SELECT
        p.*,
        p.live_url IS NULL
            AND NOT coalesce({{has "split(period.published || ',' || period.ended, ',')" "p.status_prefix"}}, false) AS is_open,
        {{micros "publications.published_at"}} BETWEEN period.first_us AND period.last_us AS is_published_in_period,
        {{micros "publications.published_at"}} - {{micros "p.started_at"}}                AS duration_us,
        {{has "split(period.revision, ',')" "p.status_prefix"}} AS is_in_revision,
        period.snapshot_at
    FROM ${mart}.article_progress AS p
    CROSS JOIN period
    LEFT JOIN publications ON publications.article_id = p.article_id
),
writers AS (
    SELECT
        writer_id,
        CASE WHEN writer_id IS NULL THEN '(not stated)'
            ELSE max_by(writer_name, {{tuple}}(coalesce(started_at, {{utc "0001-01-01"}}), writer_name))
                FILTER (WHERE writer_name IS NOT NULL) END AS writer_name,
        count(*)                                                           AS articles,
        count(*) FILTER (WHERE is_open)                                    AS open_articles,
        count(*) FILTER (WHERE is_open AND is_in_revision)                 AS in_revision,
        count(*) FILTER (WHERE is_open AND expected_at < snapshot_at)      AS overdue,
        count(*) FILTER (WHERE is_published_in_period)                     AS published_recently,
        {{sorted_where "duration_us" "is_published_in_period AND duration_us >= 0"}} AS sorted_durations
    FROM article_loads
    GROUP BY writer_id
)
SELECT
    writer_id,
    writer_name,
    articles,
    open_articles,
    in_revision,
    overdue,
    published_recently,
    CAST(round({{quantile "sorted_durations" "0.5" (size "sorted_durations")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days_to_publish
FROM writers
ORDER BY open_articles DESC, writer_id NULLS LAST
