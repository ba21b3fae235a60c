-- subject: placements
-- title: Sites that a client has not used
-- grain: one row per outlet and currency, with its cheapest matching listing
-- about: Outlets without an order item of the client profile, and the lowest price of their listings on sale. Refunded and deleted items do not count; an item without an outlet counts for the outlet of its product. The currency with the most outlets comes first, and in it the cheapest outlet. Listings without an outlet, and prices of 0 or less, are left out. An unknown profile gives no rows.
-- also: new, unused, fresh, never, client, untouched, outlet, alternative, suggestion
-- columns: first outlet_name lowest_price currency domain_authority country listing_name
-- param: profile VARCHAR REQUIRED -- id or name of the client profile
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: country VARCHAR NULL -- only outlets of this country
-- values: SELECT DISTINCT country FROM product_listings
-- param: min_authority COUNT 0 -- leave out listings with a lower or no domain authority; 0 leaves out none
-- param: do_follow BOOLEAN NULL -- if true, only do-follow links; if false, only other links
-- param: top COUNT? 100 -- maximum number of outlets in each currency
WITH profile_ids AS (
    SELECT id FROM profiles WHERE $profile IN (id, name)
    UNION
    SELECT profile_id FROM mart.sold_items WHERE profile_id = $profile
),
used_outlets AS (
    SELECT coalesce(s.outlet_id, l.outlet_id) AS outlet_id
    FROM mart.sold_items AS s
    LEFT JOIN product_listings AS l ON l.id = s.product_id
    WHERE s.profile_id IN (FROM profile_ids) AND NOT s.is_refunded
),
-- pricing_tier is in a struct, because arg_min skips rows in which its first argument is NULL.
cheapest_listings AS (
    SELECT
        outlet_id,
        currency,
        count(DISTINCT listing_id)                                       AS listings,
        min(unit_amount)                                                 AS amount,
        arg_min(listing_id, (unit_amount, listing_id, position))         AS listing_id,
        arg_min({'tier': pricing_tier}, (unit_amount, listing_id, position)) AS cheapest
    FROM mart.listing_prices
    WHERE unit_amount > 0 AND outlet_id IS NOT NULL
      AND EXISTS (FROM profile_ids)
      AND outlet_id NOT IN (SELECT outlet_id FROM used_outlets WHERE outlet_id IS NOT NULL)
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
      AND ($country IS NULL OR country = $country)
      AND ($min_authority = 0 OR domain_authority >= $min_authority)
      AND ($do_follow IS NULL OR is_do_follow = $do_follow)
    GROUP BY ALL
),
ranked_outlets AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY currency) AS currency_outlets,
        row_number() OVER (PARTITION BY currency ORDER BY amount, outlet_id) AS rank
    FROM cheapest_listings
    QUALIFY $top IS NULL OR rank <= $top
)
SELECT
    r.outlet_id,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    l.country,
    r.currency,
    CAST(r.amount AS DECIMAL(18, 2)) AS lowest_price,
    r.cheapest.tier                  AS pricing_tier,
    l.name                           AS listing_name,
    l.channel_type,
    l.placement_type,
    l.domain_authority,
    l.is_do_follow,
    l.max_delivery_days,
    r.listings,
    r.listing_id
FROM ranked_outlets AS r
JOIN product_listings AS l ON l.id = r.listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = r.outlet_id
ORDER BY r.currency_outlets DESC, r.currency, r.rank
