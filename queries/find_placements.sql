-- subject: placements
-- title: Find placements
-- grain: one row per matching price of a listing, best first
-- about: Placements to buy. Within each tier and currency, rank 1 has the lowest price per point of domain authority. Listings without an authority come last, the cheapest first. Amounts of different currencies cannot be compared, so the rows are ordered by rank. The price limits apply to prices of every currency: also set the parameter "currency". Prices of 0 or less are left out.
-- also: search, buy, site, outlet, listing, filter, offer, catalog, guest post
-- columns: first listing_name price currency domain_authority outlet_name pricing_tier country
-- param: country VARCHAR NULL -- only outlets of this country
-- values: SELECT DISTINCT country FROM product_listings
-- param: channel_type VARCHAR NULL -- only this type of channel
-- values: SELECT DISTINCT channel_type FROM product_listings
-- param: placement_type VARCHAR NULL -- only this type of placement
-- values: SELECT DISTINCT placement_type FROM product_listings
-- param: tag VARCHAR NULL -- only listings with this tag
-- values: SELECT DISTINCT name FROM product_listing_tags
-- param: min_authority COUNT 0 -- leave out listings with a lower or no domain authority; 0 leaves out none
-- param: do_follow BOOLEAN NULL -- if true, only do-follow links; if false, only other links
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: min_price DECIMAL NULL -- leave out lower prices
-- param: max_price DECIMAL NULL -- leave out higher prices
-- param: max_days COUNT NULL -- only listings whose longest delivery time is at most this many days
-- param: top COUNT? 50 -- maximum number of rows
WITH matching_prices AS (
    SELECT
        listing_id, position, pricing_tier, currency, unit_amount, domain_authority,
        unit_amount / CASE WHEN domain_authority > 0 THEN domain_authority END AS per_point
    FROM mart.listing_prices
    WHERE unit_amount > 0
      AND ($country IS NULL OR country = $country)
      AND ($channel_type IS NULL OR channel_type = $channel_type)
      AND ($placement_type IS NULL OR placement_type = $placement_type)
      AND ($tag IS NULL OR listing_id IN (SELECT product_listing_id FROM product_listing_tags WHERE name = $tag))
      AND ($min_authority = 0 OR domain_authority >= $min_authority)
      AND ($do_follow IS NULL OR is_do_follow = $do_follow)
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
      AND ($min_price IS NULL OR unit_amount >= CAST($min_price AS DECIMAL(18, 6)))
      AND ($max_price IS NULL OR unit_amount <= CAST($max_price AS DECIMAL(18, 6)))
      AND ($max_days IS NULL OR max_delivery_days <= $max_days)
),
ranked_prices AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY pricing_tier, currency) AS price_count,
        row_number() OVER (PARTITION BY pricing_tier, currency
            ORDER BY per_point NULLS LAST, unit_amount, domain_authority DESC NULLS LAST, listing_id, position) AS rank
    FROM matching_prices
    QUALIFY $top IS NULL OR rank <= $top
),
best_prices AS (
    SELECT * FROM ranked_prices ORDER BY rank, price_count DESC, pricing_tier, currency LIMIT $top
)
-- Names are joined last, because only a few rows are left by then.
SELECT
    b.rank,
    b.pricing_tier,
    b.currency,
    CAST(b.unit_amount AS DECIMAL(18, 2)) AS price,
    CAST(b.per_point AS DECIMAL(18, 4))   AS price_per_point,
    b.domain_authority,
    l.is_do_follow,
    l.max_delivery_days,
    l.name AS listing_name,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    l.country,
    l.channel_type,
    l.placement_type,
    b.listing_id
FROM best_prices AS b
JOIN product_listings AS l ON l.id = b.listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY b.rank, b.price_count DESC, b.pricing_tier, b.currency
