-- The page of a client profile.

-- name: head
-- Some profiles are not in the table profiles, but in campaigns, orders or articles.
WITH sources AS (
    SELECT 1 AS rank, id, name, legal_company_name, type, location, website_url, drive_link, valid_from FROM history.profiles WHERE id = {id}
    UNION ALL
    SELECT 2, profile_id, profile_name, NULL, NULL, NULL, NULL, NULL, valid_from FROM history.campaigns WHERE profile_id = {id}
    UNION ALL
    SELECT 3, profile_id, NULL, NULL, NULL, NULL, NULL, NULL, valid_from FROM history.orders WHERE profile_id = {id}
    UNION ALL
    SELECT 4, profile_id, NULL, NULL, NULL, NULL, NULL, NULL, valid_from FROM history.articles WHERE profile_id = {id}
)
SELECT coalesce(name, 'Profile ' || id) AS title, legal_company_name AS company, type, location, website_url AS website, drive_link AS drive
FROM sources ORDER BY rank, valid_from DESC LIMIT 1;

-- name: goals
SELECT name AS goal_type, valid_from, valid_to FROM history.profile_primary_goals WHERE profile_id = {id} ORDER BY 1, 2;

-- name: orders
SELECT coalesce(o.reference_number, ids.order_id) AS "order", ids.order_id, o.status, o.created_at AS ordered, o.date_paid AS paid, o.total,
    (SELECT count(*) FROM main.order_line_items AS l WHERE l.order_id = ids.order_id AND l.deleted_at IS NULL) AS items
FROM (
    SELECT id AS order_id FROM main.orders WHERE profile_id = {id}
    UNION
    SELECT order_id FROM main.profile_orders WHERE profile_id = {id}
) AS ids
LEFT JOIN main.orders AS o ON o.id = ids.order_id
WHERE o.deleted_at IS NULL
ORDER BY o.created_at DESC NULLS LAST, ids.order_id;

-- name: campaigns
SELECT coalesce(c.name, ids.campaign_id) AS campaign, ids.campaign_id, c.status, c.created_at AS created, c.target_date, c.budget, c.total_articles AS articles
FROM (
    SELECT id AS campaign_id FROM main.campaigns WHERE profile_id = {id}
    UNION
    SELECT campaign_id FROM main.profile_campaigns WHERE profile_id = {id}
) AS ids
LEFT JOIN main.campaigns AS c ON c.id = ids.campaign_id
WHERE c.deleted_at IS NULL
ORDER BY c.created_at DESC NULLS LAST, ids.campaign_id;

-- name: items
SELECT i.name AS product, i.product_id, i.outlet_name AS outlet, i.outlet_id, c.name AS campaign, i.campaign_id, i.type, i.is_add_on AS add_on,
    i.max_delivery_days AS days_promised
FROM main.profile_order_items AS i
LEFT JOIN main.campaigns AS c ON c.id = i.campaign_id
WHERE i.profile_id = {id}
ORDER BY i.name, i.id;

-- name: articles
SELECT a.article_name AS article, a.article_id, a.campaign_name AS campaign, a.campaign_id, a.status_name AS status, a.waits_for, a.status_since,
    coalesce(l.past_promise, false) AS past_promise, a.expected_at AS expected, coalesce(l.past_expected, false) AS past_expected, a.live_url AS address
FROM mart.article_progress AS a
LEFT JOIN mart.late_articles AS l USING (article_id)
WHERE a.profile_id = {id}
ORDER BY coalesce(a.status_since, a.started_at) DESC NULLS LAST, a.article_id;

-- name: list
-- The rows of the page Profiles. The counts equal the numbers of rows in the tables Orders and Campaigns
-- on the page of the profile.
WITH order_counts AS (
    SELECT ids.profile_id, count(*) AS orders
    FROM (SELECT profile_id, id FROM main.orders UNION SELECT profile_id, order_id FROM main.profile_orders) AS ids
    LEFT JOIN main.orders AS o ON o.id = ids.id
    WHERE o.deleted_at IS NULL
    GROUP BY ids.profile_id
),
campaign_counts AS (
    SELECT ids.profile_id, count(*) AS campaigns
    FROM (SELECT profile_id, id FROM main.campaigns UNION SELECT profile_id, campaign_id FROM main.profile_campaigns) AS ids
    LEFT JOIN main.campaigns AS c ON c.id = ids.id
    WHERE c.deleted_at IS NULL
    GROUP BY ids.profile_id
)
SELECT p.name AS profile, p.id AS profile_id, p.type, p.location, p.website_url AS website,
    coalesce(o.orders, 0) AS orders, coalesce(c.campaigns, 0) AS campaigns, p.updated_at AS updated,
    concat_ws(' ', p.name, p.legal_company_name, p.id, p.location, p.website_url) AS search_text
FROM main.profiles AS p
LEFT JOIN order_counts AS o ON o.profile_id = p.id
LEFT JOIN campaign_counts AS c ON c.profile_id = p.id
WHERE p.deleted_at IS NULL
ORDER BY p.name, p.id;
