-- The page of a listing. A listing and its product have the same id. The tables product_listings and
-- outlet_listings contain listings.

-- name: head
-- Some listings are not in product_listings, but in outlet_listings, products or order_items.
WITH sources AS (
    SELECT 1 AS rank, name, outlet_id, outlet_name, website_url, country, state, city, channel_type, placement_type, domain_authority,
        domain_ranking, is_do_follow, disclaimer, min_delivery_days, max_delivery_days, valid_from
    FROM history.product_listings WHERE id = {id}
    UNION ALL
    SELECT 2, name, outlet_id, outlet_name, website_url, country, state, city, NULL, NULL, NULL, NULL, NULL, NULL, min_delivery_days, max_delivery_days, valid_from
    FROM history.outlet_listings WHERE id = {id}
    UNION ALL
    SELECT 3, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, min_delivery_days, max_delivery_days, valid_from
    FROM history.products WHERE id = {id}
    UNION ALL
    SELECT 4, product_name, outlet_id, outlet_name, outlet_website_url, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, valid_from
    FROM history.order_items WHERE product_id = {id}
)
SELECT
    name AS title,
    outlet_id,
    outlet_name        AS outlet,
    website_url        AS website,
    concat_ws(', ', city, state, country) AS place,
    channel_type,
    placement_type,
    domain_authority,
    domain_ranking,
    is_do_follow       AS do_follow,
    disclaimer,
    CASE
        WHEN min_delivery_days = max_delivery_days THEN concat(min_delivery_days, ' days')
        WHEN min_delivery_days IS NOT NULL AND max_delivery_days IS NOT NULL THEN concat(min_delivery_days, ' to ', max_delivery_days, ' days')
        WHEN max_delivery_days IS NOT NULL THEN concat('up to ', max_delivery_days, ' days')
        WHEN min_delivery_days IS NOT NULL THEN concat('from ', min_delivery_days, ' days')
    END AS promised_delivery
FROM sources
ORDER BY rank, valid_from DESC
LIMIT 1;

-- name: prices
-- The history of the prices of a listing. All prices come from one of three tables: the first table that
-- contains prices of the listing. The history is split into spans at each change of a price. The column
-- nth is the number of a price among the prices of the same span, tier and currency, in the order of
-- position. nth identifies a price better than position, which changes when the service inserts a price.
WITH versions AS (
    SELECT 1 AS rank, position, pricing_tier, currency, unit_amount, valid_from, valid_to
    FROM history.product_listing_prices WHERE product_listing_id = {id}
    UNION ALL
    SELECT 2, position, pricing_tier, currency, unit_amount, valid_from, valid_to
    FROM history.outlet_listing_prices WHERE outlet_listing_id = {id}
    UNION ALL
    SELECT 3, position, pricing_tier, currency, unit_amount, valid_from, valid_to
    FROM history.product_prices WHERE product_id = {id}
),
prices AS (SELECT * FROM versions WHERE rank = (SELECT min(rank) FROM versions)),
change_times AS (SELECT valid_from AS changed_at FROM prices UNION SELECT valid_to FROM prices WHERE valid_to IS NOT NULL),
spans AS (SELECT changed_at AS valid_from, lead(changed_at) OVER (ORDER BY changed_at) AS valid_to FROM change_times)
SELECT
    p.pricing_tier AS tier,
    p.currency,
    row_number() OVER (PARTITION BY s.valid_from, p.pricing_tier, p.currency ORDER BY p.position) AS nth,
    p.unit_amount  AS amount,
    s.valid_from,
    s.valid_to
FROM spans AS s
JOIN prices AS p ON p.valid_from <= s.valid_from AND (p.valid_to IS NULL OR p.valid_to > s.valid_from)
ORDER BY p.currency, p.pricing_tier, nth, s.valid_from;

-- name: tags
SELECT name AS tag, valid_from, valid_to FROM history.product_listing_tags WHERE product_listing_id = {id}
UNION ALL
SELECT name, valid_from, valid_to FROM history.outlet_listing_tags
WHERE outlet_listing_id = {id} AND NOT EXISTS (SELECT 1 FROM history.product_listing_tags WHERE product_listing_id = {id})
ORDER BY 1, 2;

-- name: includes
SELECT concat_ws(', ', channel_type, placement_type) AS included, valid_from, valid_to
FROM history.product_listing_includes WHERE product_listing_id = {id} ORDER BY 1, 2;

-- name: links
SELECT url, valid_from, valid_to FROM history.product_listing_example_links WHERE product_listing_id = {id}
UNION ALL
SELECT url, valid_from, valid_to FROM history.product_example_links
WHERE product_id = {id} AND NOT EXISTS (SELECT 1 FROM history.product_listing_example_links WHERE product_listing_id = {id})
ORDER BY 1, 2;

-- name: channels
SELECT channel_type, placement_type, is_do_follow AS do_follow, domain_authority, domain_ranking, disclaimer_name AS disclaimer, disclaimer_description AS disclaimer_text
FROM main.outlet_listing_channels WHERE outlet_listing_id = {id} ORDER BY position;

-- name: orders
SELECT
    coalesce(o.reference_number, l.order_id) AS "order", l.order_id,
    p.name AS profile, o.profile_id,
    coalesce(o.created_at, l.created_at) AS ordered,
    o.date_paid AS paid,
    o.status,
    l.quantity,
    l.price
FROM main.order_line_items AS l
LEFT JOIN main.orders AS o ON o.id = l.order_id
LEFT JOIN main.profiles AS p ON p.id = o.profile_id
WHERE l.product_id = {id} AND l.deleted_at IS NULL AND o.deleted_at IS NULL
ORDER BY coalesce(o.created_at, l.created_at) DESC, l.order_id, l.position;

-- name: items
SELECT
    coalesce(o.reference_number, i.order_id) AS "order", i.order_id,
    m.paid_at AS paid,
    i.product_price AS list_price,
    i.sale_price,
    m.margin,
    i.commission_amount AS commission,
    i.commission_status,
    i.commission_date_paid AS commission_paid,
    m.is_refunded AS refunded
FROM main.order_items AS i
LEFT JOIN mart.order_item_margins AS m ON m.order_item_id = i.id
LEFT JOIN main.orders AS o ON o.id = i.order_id
WHERE i.product_id = {id} AND i.deleted_at IS NULL
ORDER BY m.paid_at DESC NULLS LAST, i.id;

-- name: delivery
SELECT
    a.article_name AS article, a.article_id,
    a.status_name AS status,
    a.order_paid_at AS paid,
    a.expected_at AS expected,
    coalesce(l.past_promise, false) AS past_promise,
    coalesce(l.past_expected, false) AS past_expected,
    a.published_at AS published,
    CASE WHEN a.published_at >= a.order_paid_at
        THEN CAST((epoch_us(a.published_at) - epoch_us(a.order_paid_at)) / 86400e6 AS DECIMAL(18, 1)) END AS days_taken,
    p.max_delivery_days AS days_promised,
    a.live_url AS address
FROM mart.article_progress AS a
JOIN main.order_items AS i ON i.id = a.order_item_id
LEFT JOIN main.products AS p ON p.id = i.product_id
LEFT JOIN mart.late_articles AS l ON l.article_id = a.article_id
WHERE i.product_id = {id}
ORDER BY a.order_paid_at DESC NULLS LAST, a.article_id;

-- name: beside
-- The other listings of the outlet. Prices are filtered before the join, so that the join does not hash
-- the prices of all listings.
WITH other_listings AS MATERIALIZED (
    SELECT id, name, channel_type, placement_type, is_do_follow, domain_authority
    FROM main.product_listings
    WHERE id <> {id} AND outlet_id = (SELECT arg_max(outlet_id, valid_from) FROM history.product_listings WHERE id = {id})
),
prices AS (
    SELECT product_listing_id AS id, currency, min(unit_amount) AS lowest
    FROM main.product_listing_prices WHERE product_listing_id IN (SELECT id FROM other_listings)
    GROUP BY ALL
)
SELECT l.name AS listing, l.id AS listing_id, l.channel_type, l.placement_type, l.is_do_follow AS do_follow, l.domain_authority,
    p.lowest AS lowest_price, p.currency
FROM other_listings AS l
LEFT JOIN prices AS p USING (id)
ORDER BY l.name, l.id, p.currency;
