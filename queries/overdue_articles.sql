-- subject: throughput
-- title: Late articles
-- grain: one row per open article that is past its promised or its expected date, the longest delay first
-- about: Articles that are neither published nor ended and are late at the snapshot. The promised date is the payment of the order plus the longest delivery time of the item. The expected date is the one that the service states. An article can be past one of them or past both; late_since is the date chosen with "past", or else the date that passed first. Days have 24 hours and are rounded to 2 places. An article with a live address counts as published. Articles of refunded items are left out. Other queries and pages count the same articles.
-- also: late, delay, delayed, deadline, missed, behind, past due
-- columns: first article_name late_since days_past_promise days_past_expected status_name writer_name outlet_name campaign_name
-- chart: bar x=article_name y=days_past_promise
-- param: past promise|expected NULL -- only articles past this date
-- param: since DATE NULL -- only articles that became late on or after this date
-- param: until DATE NULL -- only articles that became late before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
WITH late AS (
    SELECT * REPLACE (CASE $past WHEN 'promise' THEN promised_at WHEN 'expected' THEN expected_at ELSE late_since END AS late_since)
    FROM mart.late_articles
    WHERE $past IS NULL OR CASE $past WHEN 'promise' THEN past_promise ELSE past_expected END
)
SELECT
    l.article_id,
    p.article_name,
    p.campaign_name,
    p.profile_name,
    p.writer_name,
    p.outlet_name,
    coalesce(p.status_name, p.status_prefix) AS status_name,
    l.late_since,
    l.promised_at,
    CASE WHEN l.past_promise THEN CAST((epoch_us(s.snapshot_at) - epoch_us(l.promised_at)) / 86400e6 AS DECIMAL(18, 2)) END AS days_past_promise,
    l.expected_at,
    p.expected_for,
    CASE WHEN l.past_expected THEN CAST((epoch_us(s.snapshot_at) - epoch_us(l.expected_at)) / 86400e6 AS DECIMAL(18, 2)) END AS days_past_expected
FROM late AS l
JOIN mart.article_progress AS p USING (article_id)
CROSS JOIN mart.snapshot AS s
WHERE ($since IS NULL OR l.late_since >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
  AND ($until IS NULL OR l.late_since < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
ORDER BY l.late_since, l.article_id
