-- subject: orders
-- title: Campaigns against budget
-- grain: one row per campaign, the highest share of the budget first
-- about: Budget of each campaign and the sale prices of its items. spent is the sum for articles that are published or ended, committed the sum for articles in progress. Refunded items are left out, and an item of several articles counts once, as in progress if one of them is. budget_left is the budget less both sums, negative if they exceed it. items_without_price are not included in the sums; a sum is empty if all of its items lack the price. articles_left counts the planned articles that have not begun. Deleted campaigns are left out. Items have no currency: the sums are valid only if the budget and all items are in the same currency.
-- also: spent, spend, committed, left, remaining, overspend, money, cost
-- chart: bar x=campaign_name y=used_percent
-- param: profile VARCHAR NULL -- only campaigns of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: status VARCHAR NULL -- only campaigns with one of these statuses, in upper or lower case, separated by commas
-- values: SELECT DISTINCT status FROM campaigns
-- param: since DATE NULL -- only campaigns created on or after this date
-- param: until DATE NULL -- only campaigns created before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
WITH campaign_items AS (
    SELECT p.campaign_id, s.order_item_id, s.sale_price, bool_or(p.state = 'open') AS is_open
    FROM mart.article_progress AS p
    JOIN mart.sold_items AS s USING (order_item_id)
    WHERE NOT s.is_refunded
    GROUP BY p.campaign_id, s.order_item_id, s.sale_price
),
item_sums AS (
    SELECT
        campaign_id,
        count(*) - count(sale_price) AS without_price,
        CASE WHEN count(*) FILTER (NOT is_open) > 0 THEN sum(sale_price) FILTER (NOT is_open) ELSE 0 END AS spent,
        CASE WHEN count(*) FILTER (is_open) > 0 THEN sum(sale_price) FILTER (is_open) ELSE 0 END         AS committed
    FROM campaign_items
    GROUP BY campaign_id
),
article_counts AS (
    SELECT campaign_id, count(*) AS articles, count(*) FILTER (state = 'open') AS open_articles
    FROM mart.article_progress
    GROUP BY campaign_id
),
budgets AS (
    SELECT
        c.id,
        c.name,
        coalesce(p.name, c.profile_name) AS profile_name,
        c.status,
        c.target_date,
        c.budget,
        CASE WHEN i.campaign_id IS NULL THEN 0 ELSE i.spent END     AS spent,
        CASE WHEN i.campaign_id IS NULL THEN 0 ELSE i.committed END AS committed,
        coalesce(i.without_price, 0)     AS without_price,
        coalesce(a.articles, 0)          AS articles,
        coalesce(a.open_articles, 0)     AS open_articles,
        c.total_articles
    FROM campaigns AS c
    LEFT JOIN profiles AS p ON p.id = c.profile_id
    LEFT JOIN item_sums AS i ON i.campaign_id = c.id
    LEFT JOIN article_counts AS a ON a.campaign_id = c.id
    WHERE c.deleted_at IS NULL
      AND ($profile IS NULL OR $profile IN (c.profile_id, p.name, c.profile_name))
      AND ($status IS NULL OR list_contains(string_split(lower($status), ','), lower(c.status)))
      AND ($since IS NULL OR c.created_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR c.created_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
)
SELECT
    name                              AS campaign_name,
    profile_name,
    status                            AS campaign_status,
    target_date,
    CAST(budget AS DECIMAL(18, 2))    AS budget,
    CAST(spent AS DECIMAL(38, 2))     AS spent,
    CAST(committed AS DECIMAL(38, 2)) AS committed,
    CAST(CAST(budget AS DECIMAL(38, 6)) - spent - committed AS DECIMAL(38, 2)) AS budget_left,
    CAST(100 * (spent + committed) / nullif(budget, 0) AS DECIMAL(38, 1))      AS used_percent,
    articles,
    open_articles,
    CASE WHEN total_articles IS NOT NULL THEN greatest(total_articles, articles) - articles END AS articles_left,
    without_price                     AS items_without_price,
    id                                AS campaign_id
FROM budgets
ORDER BY used_percent DESC NULLS LAST, campaign_name, campaign_id
LIMIT $top
