-- Articles by week
WITH params AS (
    SELECT
        CAST(12 AS BIGINT) AS weeks,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST('published,live' AS {{text}}) AS published,
        CAST('cancelled,canceled,rejected,archived' AS {{text}}) AS ended
),
bounds AS (
    SELECT
        n.snapshot_at,
        params.*,
        {{week (local_date "n.snapshot_at" "params.timezone")}} AS this_week,
        {{days_after (week "params.until") "-7"}} AS week_before_until
    FROM ${mart}.snapshot AS n
    CROSS JOIN params
),
period AS (
    SELECT
        snapshot_at,
        timezone,
        coalesce(least(week_before_until, this_week), this_week) AS last_week,
        coalesce({{week "since"}}, {{days_after "coalesce(least(week_before_until, this_week), this_week)" "-7 * (weeks - 1)"}}) AS first_week
    FROM bounds
),
mondays AS (
    SELECT
        p.snapshot_at,
        p.timezone,
        p.last_week,
{{- if spark}}
        explode(sequence(p.first_week, greatest(p.first_week, p.last_week), INTERVAL 7 DAYS)) AS week
    FROM period AS p
{{- else}}
        a.week
    FROM period AS p
    CROSS JOIN UNNEST(sequence(p.first_week, greatest(p.first_week, p.last_week), INTERVAL '7' DAY)) AS a (week)
{{- end}}
),
calendar AS (
    SELECT
        week,
        {{midnight "week" "timezone"}}              AS starts_at,
        {{midnight_after "week" "7" "timezone"}} AS ends_at,
        {{midnight_after "week" "7" "timezone"}} <= snapshot_at AS is_complete
    FROM mondays
    WHERE week <= last_week
),
article_ends AS (
    SELECT
        s.article_id,
        min(s.began_at) FILTER (WHERE {{has "split(params.published, ',')" "s.status_prefix"}}) AS published_at,
        min(s.began_at) FILTER (WHERE {{has "split(params.ended, ',')" "s.status_prefix"}})     AS ended_at
    FROM ${mart}.article_stays AS s
    CROSS JOIN params
    GROUP BY s.article_id
),
-- Articles that are published or ended at an unknown time are never in progress.
article_dates AS (
    SELECT
        p.started_at,
        e.published_at,
        CASE WHEN e.published_at IS NULL THEN e.ended_at END AS ended_at,
        coalesce(e.published_at, e.ended_at)                 AS done_at,
        e.published_at IS NULL AND e.ended_at IS NULL AND (p.live_url IS NOT NULL
            OR coalesce({{has "split(params.published || ',' || params.ended, ',')" "p.status_prefix"}}, false)) AS is_done_at_unknown_time
    FROM ${mart}.article_progress AS p
    CROSS JOIN params
    LEFT JOIN article_ends AS e ON e.article_id = p.article_id
),
article_counts AS (
    SELECT
        c.week,
        count(*) FILTER (WHERE a.started_at >= c.starts_at)   AS started,
        count(*) FILTER (WHERE a.published_at >= c.starts_at AND a.published_at < c.ends_at) AS published,
        count(*) FILTER (WHERE a.ended_at >= c.starts_at AND a.ended_at < c.ends_at)         AS ended,
        count(*) FILTER (WHERE NOT a.is_done_at_unknown_time AND (a.done_at IS NULL OR a.done_at >= c.ends_at)) AS in_progress
    FROM calendar AS c
    JOIN article_dates AS a ON a.started_at < c.ends_at
    GROUP BY c.week
),
item_starts AS (
    SELECT order_item_id, min(started_at) AS started_at
    FROM ${mart}.article_progress
    WHERE order_item_id IS NOT NULL
    GROUP BY order_item_id
),
-- The backlog contains paid items that are not refunded and have no article that has begun.
item_dates AS (
    SELECT i.date_paid AS paid_at, item_starts.started_at
    FROM ${current}.order_items AS i
    LEFT JOIN item_starts ON item_starts.order_item_id = i.id
    WHERE i.deleted_at IS NULL AND NOT coalesce(i.is_refunded, false) AND i.refund_date IS NULL
      AND (item_starts.started_at IS NOT NULL OR (item_starts.order_item_id IS NULL AND i.article_id IS NULL))
),
item_counts AS (
    SELECT c.week, count(*) AS backlog
    FROM calendar AS c
    JOIN item_dates AS w ON w.paid_at < c.ends_at AND (w.started_at IS NULL OR w.started_at >= c.ends_at)
    GROUP BY c.week
)
SELECT
    c.week,
    c.is_complete,
    coalesce(a.started, 0)     AS started,
    coalesce(a.published, 0)   AS published,
    coalesce(a.ended, 0)       AS ended,
    coalesce(a.in_progress, 0) AS in_progress_at_end,
    coalesce(i.backlog, 0)     AS backlog_at_end
FROM calendar AS c
LEFT JOIN article_counts AS a ON a.week = c.week
LEFT JOIN item_counts AS i ON i.week = c.week
ORDER BY c.week
