-- title: Best value for authority
-- grain: one row per price among the best of its tier and currency
-- about: The listings with the lowest price per point of domain authority, of each tier and currency. Prices that are not above zero are left out. The price per point is rounded to 4 places; equal ones are in the order of authority, then of id.
-- param: currency VARCHAR NULL -- only prices in this currency
-- param: tier VARCHAR NULL -- only prices of this tier
-- param: min_authority COUNT 30 -- leave out listings with less domain authority
-- param: top COUNT 20 -- how many of each tier and currency
WITH valued AS (
    SELECT *, unit_amount / domain_authority AS per_point
    FROM mart.listing_prices
    WHERE unit_amount > 0 AND domain_authority >= greatest(1, $min_authority)
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
)
SELECT
    pricing_tier,
    currency,
    row_number() OVER value_order AS rank,
    listing_id,
    listing_name,
    outlet_name,
    country,
    channel_type,
    placement_type,
    is_do_follow,
    domain_authority,
    CAST(unit_amount AS DECIMAL(18, 2)) AS price,
    CAST(per_point AS DECIMAL(18, 4))   AS price_per_point
FROM valued
WINDOW value_order AS (PARTITION BY pricing_tier, currency ORDER BY per_point, domain_authority DESC, listing_id, position)
QUALIFY rank <= $top
ORDER BY pricing_tier, currency, rank
