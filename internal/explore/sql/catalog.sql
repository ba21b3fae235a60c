-- The catalog page. In all statements, l is a listing, and p is its lowest price in the chosen currency.

-- name: listings
-- The listings that match an address, in its order. {lowest_price} is the join of p, or nothing.
SELECT {columns}
FROM {listings} AS l {lowest_price}
WHERE {conditions}
ORDER BY {sorted_by} {direction} NULLS LAST, l.id;

-- name: page
-- One page of {listings}. Prices and tags are read only for the listings of this page.
WITH page AS MATERIALIZED (
    SELECT row_number() OVER () AS position, *
    FROM ({listings} LIMIT {rows} OFFSET {offset})
)
SELECT l.*,
    {prices},
    (SELECT string_agg(DISTINCT name, ', ' ORDER BY name) FROM main.product_listing_tags WHERE product_listing_id = l.id) AS tags
FROM page AS l
ORDER BY l.position;

-- name: counts
-- The number of listings that match an address. Also, for each value of a facet, the number of listings that would
-- match if this value replaced the chosen values of the facet. A listing counts for the values of a facet if it
-- matches the chosen values of all other facets. Currency, tier and price range are one facet here, price. "found"
-- contains the listings that match the search and the ranges except the price range, and match all facets but at most
-- one. The column "unmatched" names this facet. The chosen values of a facet are first, then the most frequent ones,
-- {most} in all.
WITH found AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT l.id, l.country, l.state, l.channel_type, l.placement_type, l.is_do_follow, l.disclaimer,
            concat_ws(',', {unmatched_facets}) AS unmatched
        FROM {listings} AS l
        WHERE {conditions}
    )
    WHERE NOT contains(unmatched, ',')
),
count_by_column AS (
    SELECT unmatched, count(*) AS n,
        coalesce(country, state, channel_type, placement_type, CAST(is_do_follow AS VARCHAR), disclaimer) AS value,
        CASE 0 -- GROUPING is 0 for the column of the grouping set
            WHEN GROUPING(country) THEN 'country'
            WHEN GROUPING(state) THEN 'state'
            WHEN GROUPING(channel_type) THEN 'channel'
            WHEN GROUPING(placement_type) THEN 'placement'
            WHEN GROUPING(is_do_follow) THEN 'dofollow'
            ELSE 'disclaimer'
        END AS facet
    FROM found
    GROUP BY GROUPING SETS ((unmatched, country), (unmatched, state), (unmatched, channel_type), (unmatched, placement_type),
        (unmatched, is_do_follow), (unmatched, disclaimer))
),
listing_tags AS (
    SELECT DISTINCT f.id, t.name AS value
    FROM found AS f
    LEFT JOIN main.product_listing_tags AS t ON t.product_listing_id = f.id AND t.name IS NOT NULL
    WHERE f.unmatched IN ('', 'tag')
),
listing_currencies AS (
    SELECT product_listing_id, currency AS value
    FROM main.product_listing_prices
    WHERE {prices_of_all_currencies} AND {is_of_found_listing}
    GROUP BY product_listing_id, value
    HAVING {price_range}
),
listing_tiers AS (
    SELECT product_listing_id, pricing_tier AS value
    FROM main.product_listing_prices
    WHERE {prices_of_all_tiers} AND {is_of_found_listing}
    GROUP BY product_listing_id, value
    HAVING {price_range}
),
value_counts AS (
    SELECT facet, value, CAST(sum(n) AS BIGINT) AS n FROM count_by_column WHERE unmatched IN ('', facet) GROUP BY facet, value
    UNION ALL
    SELECT 'tag', value, count(*) FROM listing_tags GROUP BY value
    UNION ALL
    SELECT 'currency', value, count(*) FROM listing_currencies GROUP BY value
    UNION ALL
    SELECT 'tier', value, count(*) FROM listing_tiers GROUP BY value
),
ranked AS (
    SELECT *, coalesce({is_chosen}, false) AS is_chosen,
        row_number() OVER (PARTITION BY facet ORDER BY is_chosen DESC, n DESC, value) AS rank
    FROM value_counts
)
SELECT 'total' AS facet, NULL AS value, count(*) AS n, 0 AS rank FROM found WHERE unmatched = ''
UNION ALL
SELECT facet, value, n, rank FROM ranked WHERE is_chosen OR rank <= {most}
ORDER BY facet, rank;

-- name: is_of_found_listing
product_listing_id IN (SELECT id FROM found WHERE unmatched IN ('', 'price'));

-- name: named_listings
-- The table of listings. Missing names of outlets are taken from other tables.
(
    SELECT l.* REPLACE (coalesce(l.outlet_name, n.outlet_name) AS outlet_name)
    FROM main.product_listings AS l
    LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
);

-- name: lowest_price
-- {prices} is the condition for the prices of the chosen currency and tiers. The tier is an empty text if the price
-- has none.
LEFT JOIN (
    SELECT product_listing_id, min(unit_amount) AS price,
        arg_min(coalesce(pricing_tier, ''), (unit_amount, coalesce(pricing_tier, ''))) AS tier
    FROM main.product_listing_prices
    WHERE {prices}
    GROUP BY product_listing_id
) AS p ON p.product_listing_id = l.id;

-- name: prices_column
-- The lowest price in each currency with its tier.
(
    SELECT list({'currency': currency, 'price': price, 'tier': tier} ORDER BY currency NULLS LAST)
    FROM (
        SELECT currency, min(unit_amount) AS price,
            arg_min(coalesce(pricing_tier, ''), (unit_amount, coalesce(pricing_tier, ''))) AS tier
        FROM main.product_listing_prices
        WHERE product_listing_id = l.id AND {prices}
        GROUP BY currency
    )
) AS prices;

-- name: tags_column
(SELECT list(t.name ORDER BY t.position) FROM main.product_listing_tags AS t WHERE t.product_listing_id = l.id) AS tags;

-- name: has_tag
l.id IN (SELECT product_listing_id FROM main.product_listing_tags WHERE name IN ({names}));

-- name: has_no_tag
l.id NOT IN (SELECT product_listing_id FROM main.product_listing_tags WHERE name IS NOT NULL);

-- name: has_price
l.id IN (SELECT product_listing_id FROM main.product_listing_prices WHERE {prices});

-- name: has_lowest_price
l.id IN (SELECT product_listing_id FROM main.product_listing_prices WHERE {prices} GROUP BY product_listing_id HAVING {price_range});

-- name: most_frequent_currency
SELECT currency
FROM main.product_listing_prices
WHERE currency IS NOT NULL AND unit_amount IS NOT NULL
GROUP BY currency
ORDER BY count(*) DESC, currency
LIMIT 1;

-- name: outlets
SELECT id, coalesce(name, id) AS name FROM main.outlets WHERE {conditions} ORDER BY name, id LIMIT {most};
