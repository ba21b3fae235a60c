-- The page of an outlet.

-- name: head
-- Some outlets are not in the table outlets, but in product_listings, outlet_listings, order_items or
-- order_line_items.
WITH sources AS (
    SELECT 1 AS rank, name, website_url, country, state, city, is_indexed, valid_from FROM history.outlets WHERE id = {id}
    UNION ALL
    SELECT 2, outlet_name, website_url, country, state, city, is_indexed, valid_from FROM history.product_listings WHERE outlet_id = {id}
    UNION ALL
    SELECT 3, outlet_name, website_url, country, state, city, NULL, valid_from FROM history.outlet_listings WHERE outlet_id = {id}
    UNION ALL
    SELECT 4, outlet_name, outlet_website_url, NULL, NULL, NULL, NULL, valid_from FROM history.order_items WHERE outlet_id = {id}
    UNION ALL
    SELECT 5, outlet_name, outlet_website_url, NULL, NULL, NULL, NULL, valid_from FROM history.order_line_items WHERE outlet_id = {id}
),
ordered AS (
    SELECT *, row_number() OVER (ORDER BY rank, valid_from DESC) AS place_in_order FROM sources
)
-- The title comes from the first row that has a name, the other columns from the first row.
SELECT
    (SELECT name FROM ordered WHERE name IS NOT NULL ORDER BY place_in_order LIMIT 1) AS title,
    website_url AS website, concat_ws(', ', city, state, country) AS place, is_indexed AS indexed
FROM ordered
WHERE place_in_order = 1;

-- name: tags
SELECT name AS tag, valid_from, valid_to FROM history.outlet_tags WHERE outlet_id = {id} ORDER BY 1, 2;

-- name: channels
SELECT
    c.channel_type, c.placement_type, c.channel_handle AS handle, c.channel_url AS address,
    c.is_do_follow AS do_follow,
    CASE
        WHEN c.do_follow_links_unlimited THEN 'unlimited'
        WHEN c.do_follow_links_limit IS NOT NULL THEN CAST(c.do_follow_links_limit AS VARCHAR)
        WHEN c.do_follow_links_allowed THEN 'allowed'
        WHEN NOT c.do_follow_links_allowed THEN 'none'
    END AS do_follow_links,
    c.domain_authority, c.domain_ranking,
    c.disclaimer_name AS disclaimer, c.disclaimer_description AS disclaimer_text,
    (SELECT count(*) FROM main.outlet_channel_social_links AS s WHERE s.outlet_channel_id = c.id) AS social_links
FROM main.outlet_channels AS c
WHERE c.outlet_id = {id}
ORDER BY c.channel_type, c.placement_type, c.id;

-- name: social
SELECT c.channel_type, c.channel_handle AS handle, s.url AS address
FROM main.outlet_channel_social_links AS s
JOIN main.outlet_channels AS c ON c.id = s.outlet_channel_id
WHERE c.outlet_id = {id}
ORDER BY c.channel_type, c.id, s.position;

-- name: listings
-- The listings of product_listings, and those that only outlet_listings contains. Prices are filtered
-- before the join, so that the join does not hash the prices of all outlets.
WITH shown_listings AS MATERIALIZED (
    SELECT id, name, channel_type, placement_type, is_do_follow, domain_authority, min_delivery_days, max_delivery_days, true AS is_product_listing
    FROM main.product_listings WHERE outlet_id = {id}
    UNION ALL
    SELECT id, name, NULL, NULL, NULL, NULL, min_delivery_days, max_delivery_days, false
    FROM main.outlet_listings WHERE outlet_id = {id} AND id NOT IN (SELECT id FROM main.product_listings WHERE outlet_id = {id})
),
prices AS (
    SELECT product_listing_id AS id, currency, min(unit_amount) AS lowest, max(unit_amount) AS highest
    FROM main.product_listing_prices WHERE product_listing_id IN (SELECT id FROM shown_listings WHERE is_product_listing)
    GROUP BY ALL
    UNION ALL
    SELECT outlet_listing_id, currency, min(unit_amount), max(unit_amount)
    FROM main.outlet_listing_prices WHERE outlet_listing_id IN (SELECT id FROM shown_listings WHERE NOT is_product_listing)
    GROUP BY ALL
)
SELECT l.name AS listing, l.id AS listing_id, l.channel_type, l.placement_type, l.is_do_follow AS do_follow, l.domain_authority,
    l.max_delivery_days AS days_promised, p.lowest AS lowest_price, p.highest AS highest_price, p.currency
FROM shown_listings AS l
LEFT JOIN prices AS p USING (id)
ORDER BY l.name, l.id, p.currency;

-- name: products
SELECT name AS product, product_id, active, min_delivery_days, max_delivery_days, is_featured AS featured, updated_at AS updated, deleted_at AS deleted
FROM main.outlet_products WHERE outlet_id = {id} ORDER BY name, product_id;

-- name: gone
-- Listings that belonged to the outlet in an earlier snapshot and no longer belong to it. A listing has one row, with its
-- last name and types.
SELECT h.name AS listing, h.id AS listing_id, h.channel_type, h.placement_type, max(h.valid_to) AS vanished
FROM history.product_listings AS h
WHERE h.outlet_id = {id} AND h.id NOT IN (SELECT id FROM main.product_listings WHERE outlet_id = {id})
GROUP BY h.id, h.name, h.channel_type, h.placement_type
QUALIFY row_number() OVER (PARTITION BY h.id ORDER BY max(h.valid_to) DESC) = 1
ORDER BY vanished DESC, h.id;

-- name: items
-- Sold items of the outlet, the most recently paid first.
SELECT
    coalesce(o.reference_number, m.order_id) AS "order", m.order_id,
    m.paid_at AS paid, m.product_name AS product, m.product_id,
    m.sale_price, m.vendor_cost, m.commission_amount AS commission, m.margin, m.is_refunded AS refunded
FROM mart.order_item_margins AS m
LEFT JOIN main.orders AS o ON o.id = m.order_id
WHERE m.outlet_id = {id}
ORDER BY m.paid_at DESC NULLS LAST, m.order_item_id;

-- name: owed
-- Unpaid commissions and shares for sold items of the outlet. The orders that were paid earliest are first.
SELECT p.kind, coalesce(o.reference_number, p.order_id) AS "order", p.order_id, p.product_name AS product, p.order_paid_at AS order_paid, p.amount
FROM mart.payables AS p
LEFT JOIN main.orders AS o ON o.id = p.order_id
WHERE p.outlet_id = {id} AND NOT p.is_settled
ORDER BY p.order_paid_at NULLS LAST, p.order_item_id, p.kind;

-- name: articles
SELECT a.article_name AS article, a.article_id, a.campaign_name AS campaign, a.campaign_id, a.status_name AS status, a.waits_for, a.status_since,
    coalesce(l.past_promise, false) AS past_promise, a.expected_at AS expected, coalesce(l.past_expected, false) AS past_expected, a.live_url AS address
FROM mart.article_progress AS a
LEFT JOIN mart.late_articles AS l USING (article_id)
WHERE a.outlet_id = {id}
ORDER BY coalesce(a.status_since, a.started_at) DESC NULLS LAST, a.article_id;

-- name: list
-- The rows of the page Outlets.
WITH listing_counts AS (
    SELECT outlet_id, count(*) AS listings, max(domain_authority) AS authority
    FROM main.product_listings GROUP BY outlet_id
),
sold_item_counts AS (
    SELECT outlet_id, count(*) AS sold_items, max(paid_at) AS last_paid FROM mart.sold_items GROUP BY outlet_id
)
SELECT o.name AS outlet, o.id AS outlet_id, o.country, o.city, o.website_url AS website, o.is_indexed AS indexed,
    l.authority, coalesce(l.listings, 0) AS listings, coalesce(s.sold_items, 0) AS sold_items, s.last_paid,
    concat_ws(' ', o.name, o.id, o.website_url, o.country, o.city) AS search_text
FROM main.outlets AS o
LEFT JOIN listing_counts AS l ON l.outlet_id = o.id
LEFT JOIN sold_item_counts AS s ON s.outlet_id = o.id
ORDER BY o.name, o.id;
