-- subject: placements
-- title: Best value for authority
-- grain: one row per price that is among the best of its tier and currency
-- about: Listings with the lowest price per point of domain authority, by tier and currency. Prices of 0 or less are left out. The price per point is rounded to 4 places; prices with the same price per point are ordered by authority, the highest first, then by id. The tier and currency with the most prices come first.
-- also: cheap, cheapest, bargain, good price, authority, DA, worth
-- columns: first listing_name price currency domain_authority price_per_point outlet_name
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: min_authority COUNT 30 -- leave out listings with a lower domain authority
-- param: top COUNT 20 -- maximum number of rows for each tier and currency
WITH prices_per_point AS (
    SELECT listing_id, position, pricing_tier, currency, domain_authority, unit_amount, unit_amount / domain_authority AS per_point
    FROM mart.listing_prices
    WHERE unit_amount > 0 AND domain_authority >= greatest(1, $min_authority)
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
best_prices AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY pricing_tier, currency ORDER BY per_point, domain_authority DESC, listing_id, position) AS rank,
        count(*) OVER (PARTITION BY pricing_tier, currency) AS price_count
    FROM prices_per_point
    QUALIFY rank <= $top
)
-- Names are joined last, because only a few rows are left by then.
SELECT
    b.pricing_tier,
    b.currency,
    b.rank,
    b.listing_id,
    l.name AS listing_name,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    l.country,
    l.channel_type,
    l.placement_type,
    l.is_do_follow,
    b.domain_authority,
    CAST(b.unit_amount AS DECIMAL(18, 2)) AS price,
    CAST(b.per_point AS DECIMAL(18, 4))   AS price_per_point
FROM best_prices AS b
JOIN product_listings AS l ON l.id = b.listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY b.price_count DESC, b.pricing_tier, b.currency, b.rank
