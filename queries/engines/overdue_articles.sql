-- Overdue articles
-- An article with a live address counts as published.
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST('published,live' AS {{text}}) AS published,
        CAST('cancelled,canceled,rejected,archived' AS {{text}}) AS ended
),
open_articles AS (
    SELECT p.*, {{micros "n.snapshot_at"}} - {{micros "p.expected_at"}} AS overdue_micros
    FROM ${mart}.article_progress AS p
    CROSS JOIN ${mart}.snapshot AS n
    CROSS JOIN params
    WHERE p.live_url IS NULL
      AND NOT coalesce({{has "split(params.published || ',' || params.ended, ',')" "p.status_prefix"}}, false)
      AND (params.since IS NULL
        OR p.expected_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR p.expected_at < {{midnight "params.until" "params.timezone"}})
)
SELECT
    article_id,
    article_name,
    campaign_name,
    profile_name,
    writer_name,
    outlet_name,
    status_prefix,
    status_name,
    expected_at,
    expected_for,
    CAST(round(overdue_micros / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS days_overdue
FROM open_articles
WHERE overdue_micros > 0
ORDER BY expected_at, article_id
