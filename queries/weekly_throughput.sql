-- subject: throughput
-- title: Articles by week
-- grain: one row per week, which begins on Monday, oldest first
-- about: Articles that began, were first published, or ended without being published in each week. The articles in progress and the backlog are counted at the end of the week; in the week of the snapshot, at the snapshot. The backlog contains paid items without an article, or whose articles have not begun. Refunded items are left out. An article that is published or ended without a known time is never in progress. Deleted articles and items are left out.
-- also: output, production, pace, published, started, productivity, trend, volume
-- chart: bar x=week y=started,published
-- param: weeks COUNT 12 -- number of weeks, if "since" is not set
-- param: since DATE NULL -- only the week of this date and later weeks
-- param: until DATE NULL -- only weeks before the week of this date; NULL means up to the snapshot
-- param: timezone TIMEZONE schedule.timezone -- time zone in which weeks begin, such as America/New_York
WITH period AS (
    SELECT
        snapshot_at,
        CAST(date_trunc('week', snapshot_at AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) AS snapshot_week,
        CAST(date_trunc('week', CAST($until AS DATE)) AS DATE) - 7                            AS week_before_until,
        CASE WHEN $until IS NULL THEN snapshot_week ELSE least(week_before_until, snapshot_week) END AS last_week,
        coalesce(CAST(date_trunc('week', CAST($since AS DATE)) AS DATE), last_week - CAST(7 * ($weeks - 1) AS INTEGER)) AS first_week
    FROM mart.snapshot
),
calendar AS (
    SELECT
        CAST(unnest(range(CAST(first_week AS TIMESTAMP), CAST(last_week + 1 AS TIMESTAMP), INTERVAL 7 DAY)) AS DATE) AS week,
        CAST(week AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)       AS starts_at,
        CAST(week + 7 AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)   AS ends_at,
        ends_at <= snapshot_at                                                 AS is_complete
    FROM period
),
article_dates AS (
    SELECT
        started_at,
        published_at,
        ended_at,
        coalesce(published_at, ended_at)      AS done_at,
        done_at IS NULL AND state <> 'open' AS is_done_at_unknown_time
    FROM mart.article_progress
),
article_counts AS (
    SELECT
        c.week,
        count(*) FILTER (a.started_at >= c.starts_at AND a.started_at < c.ends_at)     AS started,
        count(*) FILTER (a.published_at >= c.starts_at AND a.published_at < c.ends_at) AS published,
        count(*) FILTER (a.ended_at >= c.starts_at AND a.ended_at < c.ends_at)         AS ended,
        count(*) FILTER (NOT a.is_done_at_unknown_time AND (a.done_at IS NULL OR a.done_at >= c.ends_at)) AS in_progress
    FROM calendar AS c
    JOIN article_dates AS a ON a.started_at < c.ends_at
    GROUP BY c.week
),
item_starts AS (
    SELECT order_item_id, min(started_at) AS started_at
    FROM mart.article_progress
    GROUP BY order_item_id
),
item_dates AS (
    SELECT m.paid_at, item_starts.started_at
    FROM mart.order_item_margins AS m
    JOIN order_items AS i ON i.id = m.order_item_id
    LEFT JOIN item_starts ON item_starts.order_item_id = i.id
    -- An item counts if its start is known, or if it has no article. An item with an article whose start is unknown is
    -- left out.
    WHERE NOT m.is_refunded
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
LEFT JOIN article_counts AS a USING (week)
LEFT JOIN item_counts AS i USING (week)
ORDER BY c.week
