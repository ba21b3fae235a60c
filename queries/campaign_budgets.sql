-- subject: orders
-- title: Campaigns against budget
-- grain: one row per campaign, the highest share of the budget first
-- about: Budget of each campaign and the sale prices of its items. spent is the sum for articles that are published or ended, committed the sum for articles in progress. Refunded items are left out. An item of several articles counts once, and as in progress if one of its articles is in progress. budget_left is the budget less both sums, negative if they exceed it. items_without_price are not included in the sums; a sum is empty if all of its items lack the price. articles_left counts the planned articles that have not begun. Deleted campaigns are left out. Items have no currency: the sums are valid only if the budget and all items are in the same currency.
-- also: spent, spend, committed, left, remaining, overspend, money, cost
-- columns: first campaign_name budget spent committed budget_left used_percent profile_name
-- chart: bar x=campaign_name y=used_percent
-- param: profile VARCHAR NULL -- only campaigns of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: status VARCHAR NULL -- only campaigns with one of these statuses, in upper or lower case, separated by commas
-- values: SELECT DISTINCT status FROM campaigns
-- param: since DATE NULL -- only campaigns created on or after this date
-- param: until DATE NULL -- only campaigns created before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
SELECT
    c.name                              AS campaign_name,
    coalesce(p.name, c.profile_name)    AS profile_name,
    c.status                            AS campaign_status,
    c.target_date,
    CAST(s.budget AS DECIMAL(18, 2))    AS budget,
    CAST(s.spent AS DECIMAL(38, 2))     AS spent,
    CAST(s.committed AS DECIMAL(38, 2)) AS committed,
    CAST(s.budget_left AS DECIMAL(38, 2)) AS budget_left,
    CAST(100 * (s.spent + s.committed) / nullif(s.budget, 0) AS DECIMAL(38, 1)) AS used_percent,
    s.articles,
    s.open_articles,
    CASE
        WHEN c.total_articles > s.articles THEN c.total_articles - s.articles
        WHEN c.total_articles IS NOT NULL THEN 0
    END                                 AS articles_left,
    s.items_without_price,
    c.id                                AS campaign_id
FROM mart.campaign_spending AS s
JOIN campaigns AS c ON c.id = s.campaign_id
LEFT JOIN profiles AS p ON p.id = c.profile_id
WHERE ($profile IS NULL OR $profile IN (c.profile_id, p.name, c.profile_name))
  AND ($status IS NULL OR list_contains(string_split(lower($status), ','), lower(c.status)))
  AND ($since IS NULL OR c.created_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
  AND ($until IS NULL OR c.created_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
ORDER BY used_percent DESC NULLS LAST, campaign_name, campaign_id
LIMIT $top
