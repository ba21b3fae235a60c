-- subject: throughput
-- title: Who has to act next
-- grain: one row per article that is neither published nor ended, the longest waiting first
-- about: Open articles, and who has to act next: the partner has to change something (waits_for is partner) or to approve something (approval), or the writer or the publisher has to act. days_waiting is the time since the article entered its status, in days of 24 hours. It is empty if the history of the article has no time for the status. If the status is in no list of the section "statuses" of the configuration, waits_for is empty and the article comes last. An article begins when it is created, or when it enters its first status if the creation time is unknown.
-- also: stuck, blocked, waiting, todo, action, responsible, pending, approval, people
-- columns: first article_name waits_for days_waiting status_name outlet_name campaign_name
-- chart: bar x=article_name y=days_waiting
-- heading: status_prefix Status code
-- param: waits_for partner|approval|writer|publisher NULL -- only articles that wait for this party
-- param: since DATE NULL -- only articles that began on or after this date
-- param: until DATE NULL -- only articles that began before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
SELECT
    waits_for,
    CAST((epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(status_since)) / 86400e6 AS DECIMAL(18, 2)) AS days_waiting,
    article_id,
    article_name,
    status_prefix,
    status_name,
    status_since,
    writer_name,
    outlet_id,
    outlet_name,
    campaign_id,
    campaign_name,
    profile_name,
    expected_at
FROM mart.article_progress
WHERE state = 'open'
  AND ($waits_for IS NULL OR waits_for = $waits_for)
  AND ($since IS NULL OR started_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
  AND ($until IS NULL OR started_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
ORDER BY waits_for IS NULL, days_waiting DESC NULLS LAST, article_id
LIMIT $top
