-- The page of a campaign.

-- name: head
-- Some campaigns are not in the table campaigns, but in order_items, articles or profile_campaigns.
WITH sources AS (
    SELECT 1 AS rank, id, name, profile_id, profile_name, status, reference, target_date, budget, total_articles, valid_from
    FROM history.campaigns WHERE id = {id}
    UNION ALL
    SELECT 2, article_campaign_id, article_campaign_name, article_campaign_profile_id, NULL, NULL, NULL, NULL, NULL, NULL, valid_from
    FROM history.order_items WHERE article_campaign_id = {id}
    UNION ALL
    SELECT 3, campaign_id, NULL, profile_id, NULL, NULL, NULL, NULL, NULL, NULL, valid_from FROM history.articles WHERE campaign_id = {id}
    UNION ALL
    SELECT 4, campaign_id, NULL, profile_id, NULL, NULL, NULL, NULL, NULL, NULL, valid_from FROM history.profile_campaigns WHERE campaign_id = {id}
)
SELECT
    coalesce(c.name, 'Campaign ' || c.id) AS title,
    coalesce(p.name, c.profile_name) AS profile, c.profile_id,
    c.status, c.reference, c.target_date, c.budget, s.spent, s.committed, s.budget_left, nullif(s.items_without_price, 0) AS items_without_price, c.total_articles AS articles
FROM sources AS c
LEFT JOIN main.profiles AS p ON p.id = c.profile_id
LEFT JOIN mart.campaign_spending AS s ON s.campaign_id = c.id
ORDER BY c.rank, c.valid_from DESC LIMIT 1;

-- name: counts
-- The number of articles in each status, as counted by the service.
SELECT coalesce(name, prefix, id) AS status, count AS articles
FROM main.campaign_status_counts WHERE campaign_id = {id} ORDER BY count DESC, 1;

-- name: articles
SELECT a.article_name AS article, a.article_id, a.status_name AS status, a.waits_for, a.status_since,
    coalesce(l.past_promise, false) AS past_promise, a.expected_at AS expected, coalesce(l.past_expected, false) AS past_expected,
    a.writer_name AS writer, a.outlet_name AS outlet, a.outlet_id, a.live_url AS address
FROM mart.article_progress AS a
LEFT JOIN mart.late_articles AS l USING (article_id)
WHERE a.campaign_id = {id}
ORDER BY a.started_at NULLS LAST, a.article_id;

-- name: items
SELECT p.name AS product, p.product_id, p.outlet_name AS outlet, p.outlet_id, p.type, p.is_add_on AS add_on,
    p.max_delivery_days AS days_promised, coalesce(o.reference_number, i.order_id) AS "order", i.order_id
FROM main.profile_order_items AS p
LEFT JOIN main.order_items AS i ON i.id = p.id
LEFT JOIN main.orders AS o ON o.id = i.order_id
WHERE p.campaign_id = {id}
ORDER BY p.name, p.id;

-- name: list
-- The rows of the page Campaigns.
SELECT c.name AS campaign, c.id AS campaign_id, coalesce(p.name, c.profile_name) AS profile, c.profile_id, c.status,
    c.created_at AS created, c.target_date, c.budget, s.spent, s.committed, s.budget_left, c.total_articles AS articles,
    concat_ws(' ', c.name, c.reference, c.id, p.name, c.profile_name, c.status) AS search_text
FROM main.campaigns AS c
LEFT JOIN main.profiles AS p ON p.id = c.profile_id
LEFT JOIN mart.campaign_spending AS s ON s.campaign_id = c.id
WHERE c.deleted_at IS NULL
ORDER BY c.created_at DESC NULLS LAST, c.id;
