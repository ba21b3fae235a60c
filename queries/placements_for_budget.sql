-- subject: placements
-- title: Placements for a budget
-- grain: one row per chosen listing, in the order of the choice
-- about: A set of placements that a budget pays for. Each listing is taken at its lowest matching price. The listings with the lowest price per point of domain authority are taken first, or those with the highest authority if "prefer" is "authority". Listings that cost more than the rest of the budget are skipped. Another choice can have a higher total authority. authority_total is empty if the sum is too large for it. Listings without an authority, and prices of 0 or less, are left out.
-- also: plan, package, buy, money, choose, selection, afford, shopping list, basket
-- columns: first listing_name outlet_name price currency domain_authority spent budget_left
-- chart: bar x=listing_name y=price
-- param: budget DECIMAL REQUIRED -- amount to spend, in the currency
-- param: currency VARCHAR REQUIRED -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: country VARCHAR NULL -- only outlets of this country
-- values: SELECT DISTINCT country FROM product_listings
-- param: placement_type VARCHAR NULL -- only this type of placement
-- values: SELECT DISTINCT placement_type FROM product_listings
-- param: tag VARCHAR NULL -- only listings with at least one of these tags, separated by commas
-- values: SELECT DISTINCT name FROM product_listing_tags
-- param: max_days COUNT NULL -- only listings whose longest delivery time is at most this many days
-- param: min_authority COUNT 1 -- leave out listings with a lower domain authority
-- param: do_follow BOOLEAN NULL -- if true, only do-follow links; if false, only other links
-- param: prefer price_per_point|authority price_per_point -- which listings are taken first
-- param: one_per_outlet BOOLEAN true -- take at most one listing of an outlet
-- param: top COUNT 50 -- maximum number of listings
WITH RECURSIVE listing_amounts AS (
    SELECT
        listing_id,
        coalesce(outlet_id, listing_id)                        AS outlet_key,
        domain_authority,
        min(unit_amount)                                       AS amount,
        arg_min(pricing_tier, (unit_amount, position))         AS pricing_tier
    FROM mart.listing_prices
    WHERE currency = $currency
      AND unit_amount > 0 AND unit_amount <= CAST($budget AS DECIMAL(18, 6))
      AND domain_authority >= greatest(1, $min_authority)
      AND ($tier IS NULL OR pricing_tier = $tier)
      AND ($country IS NULL OR country = $country)
      AND ($placement_type IS NULL OR placement_type = $placement_type)
      AND ($tag IS NULL OR listing_id IN (SELECT product_listing_id FROM product_listing_tags WHERE list_contains(string_split($tag, ','), name)))
      AND ($max_days IS NULL OR max_delivery_days <= $max_days)
      AND ($do_follow IS NULL OR is_do_follow = $do_follow)
    GROUP BY ALL
),
-- With "prefer" authority, the first expression is NULL for all rows, and the authority decides.
ranked AS MATERIALIZED (
    SELECT
        *,
        row_number() OVER (ORDER BY
            CASE WHEN $prefer = 'price_per_point' THEN amount / domain_authority END,
            domain_authority DESC, amount, listing_id) AS rank
    FROM listing_amounts
),
-- Each step of the recursion takes the next listing that the rest of the budget pays for. min(rank) is the rank of
-- this listing, and arg_min takes its values. The first row is the start without a listing. No listing has rank 0, so
-- the join below drops that row.
choices AS (
    SELECT
        CAST(0 AS BIGINT)         AS place,
        CAST(0 AS BIGINT)         AS rank,
        CAST(0 AS DECIMAL(38, 6)) AS spent,
        CAST([] AS VARCHAR[])     AS outlet_keys
    UNION ALL
    SELECT
        c.place + 1,
        min(r.rank),
        CAST(c.spent + arg_min(r.amount, r.rank) AS DECIMAL(38, 6)),
        list_append(c.outlet_keys, arg_min(r.outlet_key, r.rank))
    FROM choices AS c
    JOIN ranked AS r ON r.rank > c.rank
    WHERE c.place < $top
      AND r.amount <= CAST($budget AS DECIMAL(18, 6)) - c.spent
      AND NOT ($one_per_outlet AND list_contains(c.outlet_keys, r.outlet_key))
    GROUP BY c.place, c.spent, c.outlet_keys
)
SELECT
    c.place,
    r.listing_id,
    l.name AS listing_name,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    l.country,
    l.channel_type,
    l.placement_type,
    r.domain_authority,
    l.is_do_follow,
    l.max_delivery_days,
    r.pricing_tier,
    $currency                                                 AS currency,
    CAST(r.amount AS DECIMAL(18, 2))                          AS price,
    CAST(r.amount / r.domain_authority AS DECIMAL(18, 4))     AS price_per_point,
    TRY_CAST(sum(r.domain_authority) OVER (ORDER BY c.place) AS BIGINT) AS authority_total,
    CAST(c.spent AS DECIMAL(38, 2))                           AS spent,
    CAST(CAST($budget AS DECIMAL(18, 6)) - c.spent AS DECIMAL(38, 2)) AS budget_left
FROM choices AS c
JOIN ranked AS r USING (rank)
JOIN product_listings AS l ON l.id = r.listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY c.place
