-- subject: throughput
-- title: Articles of a client
-- grain: one row per article, open articles first, then the latest publication
-- about: Articles with their campaign, outlet, status, dates and live address. past_promise and past_expected mean that an open article is late: see overdue_articles. An article began when it was created, or when it entered its first status if the creation time is unknown. A publication time can be unknown although the article is published.
-- also: client, status, live, links, placements, publications, progress, report
-- param: profile VARCHAR NULL -- only articles of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: state open|published|ended NULL -- only articles in this state
-- param: since DATE NULL -- only articles that began on or after this date
-- param: until DATE NULL -- only articles that began before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
SELECT
    p.profile_name,
    p.article_name,
    p.campaign_name,
    p.outlet_name,
    p.state,
    p.status_name,
    p.started_at,
    s.promised_at,
    coalesce(l.past_promise, false)  AS past_promise,
    p.expected_at,
    coalesce(l.past_expected, false) AS past_expected,
    p.published_at,
    p.live_url,
    p.article_id,
    p.campaign_id,
    p.outlet_id,
    p.profile_id
FROM mart.article_progress AS p
LEFT JOIN mart.sold_items AS s ON s.order_item_id = p.order_item_id
LEFT JOIN mart.late_articles AS l ON l.article_id = p.article_id
WHERE ($profile IS NULL OR $profile IN (p.profile_id, p.profile_name))
  AND ($state IS NULL OR p.state = $state)
  AND ($since IS NULL OR p.started_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
  AND ($until IS NULL OR p.started_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
ORDER BY CASE p.state WHEN 'open' THEN 1 WHEN 'published' THEN 2 ELSE 3 END, p.published_at DESC NULLS LAST, p.started_at DESC NULLS LAST, p.article_id
LIMIT $top
