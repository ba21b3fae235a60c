-- subject: throughput
-- title: Overdue articles
-- grain: one row per article that is past its expected date, the longest overdue first
-- about: Articles that were expected before the snapshot and are neither published nor ended. Days have 24 hours and are rounded to 2 places. An article with a live address counts as published.
-- also: late, delay, delayed, deadline, missed, behind, past due
-- chart: bar x=article_name y=days_overdue
-- param: since DATE NULL -- only articles expected on or after this date
-- param: until DATE NULL -- only articles expected before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
WITH open_articles AS (
    SELECT *, epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(expected_at) AS overdue_micros
    FROM mart.article_progress
    WHERE state = 'open'
      AND ($since IS NULL OR expected_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR expected_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
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
    CAST(overdue_micros / 86400e6 AS DECIMAL(18, 2)) AS days_overdue
FROM open_articles
WHERE overdue_micros > 0
ORDER BY expected_at, article_id
