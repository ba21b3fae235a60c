-- Load of writers
WITH params AS (
    SELECT
        CAST(30 AS BIGINT) AS days,
        CAST('published,live' AS VARCHAR) AS published,
        CAST('cancelled,canceled,rejected,archived' AS VARCHAR) AS ended,
        CAST('revision_requested' AS VARCHAR) AS revision
),
live AS (
    SELECT s.article_id, min(s.began_at) AS published_at
    FROM ${mart}.article_stays AS s
    CROSS JOIN params
    WHERE contains(split(params.published, ','), s.status_prefix)
    GROUP BY s.article_id
),
known AS (
    SELECT
        p.*,
        p.live_url IS NULL
            AND NOT coalesce(contains(split(params.published || ',' || params.ended, ','), p.status_prefix), false) AS is_open,
        CAST(round(to_unixtime(l.published_at) * 1e6) AS BIGINT) > CAST(round(to_unixtime(n.snapshot_at) * 1e6) AS BIGINT) - params.days * 86400000000
            AND l.published_at <= n.snapshot_at                   AS is_recent,
        CAST(round(to_unixtime(l.published_at) * 1e6) AS BIGINT) - CAST(round(to_unixtime(p.started_at) * 1e6) AS BIGINT)   AS micros,
        contains(split(params.revision, ','), p.status_prefix) AS in_revision,
        n.snapshot_at
    FROM ${mart}.article_progress AS p
    CROSS JOIN ${mart}.snapshot AS n
    CROSS JOIN params
    LEFT JOIN live AS l ON l.article_id = p.article_id
),
writers AS (
    SELECT
        writer_id,
        CASE WHEN writer_id IS NULL THEN '(not stated)'
            ELSE max_by(writer_name, ROW(coalesce(started_at, TIMESTAMP '0001-01-01 00:00:00 UTC'), writer_name))
                FILTER (WHERE writer_name IS NOT NULL) END AS writer_name,
        count(*)                                                           AS articles,
        count(*) FILTER (WHERE is_open)                                    AS open_articles,
        count(*) FILTER (WHERE is_open AND in_revision)                    AS in_revision,
        count(*) FILTER (WHERE is_open AND expected_at < snapshot_at)      AS overdue,
        count(*) FILTER (WHERE is_recent)                                  AS published_recently,
        array_sort(array_agg(micros) FILTER (WHERE is_recent AND micros >= 0 AND micros IS NOT NULL)) AS sorted
    FROM known
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
    CAST(round(element_at(sorted, CAST(ceil(0.5 * cardinality(sorted)) AS INTEGER)) / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days_to_publish
FROM writers
ORDER BY open_articles DESC, writer_id NULLS LAST
