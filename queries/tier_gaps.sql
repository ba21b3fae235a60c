-- subject: prices
-- title: Gaps between tiers
-- grain: one row per currency and pair of tiers, pairs with the most listings first; with by=listing, one row per listing and currency with different prices of several tiers, widest gap first
-- about: Price difference between two tiers for the same product. The gap is the price of compared_tier less the price of tier, for each listing that has both prices in one currency; quartiles are existing gaps. The column tier is the tier with more listings, and compared_cheaper counts the negative gaps. If a listing has several prices of a tier, the lowest counts. With by=listing, tier and compared_tier have the lowest and the highest price of the listing. If tiers have equal prices, the first by name is shown, and listings whose lowest price is 0 or less are left out. Prices without a tier are always left out.
-- also: difference, discount, pro, standard, pricing plan, saving
-- param: by tier|listing tier -- one row per pair of tiers or per listing
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: top COUNT? 100 -- maximum number of listings
WITH lowest_prices AS (
    SELECT product_listing_id, currency, pricing_tier, min(unit_amount) AS amount
    FROM product_listing_prices
    WHERE unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
    GROUP BY ALL
),
tiers AS (
    SELECT currency, pricing_tier, count(*) AS tier_listings
    FROM lowest_prices
    GROUP BY currency, pricing_tier
),
tier_prices AS (
    SELECT l.product_listing_id, l.currency, l.pricing_tier, l.amount, t.tier_listings
    FROM lowest_prices AS l
    JOIN tiers AS t ON t.pricing_tier = l.pricing_tier AND t.currency IS NOT DISTINCT FROM l.currency
),
pairs AS (
    SELECT
        a.currency,
        a.pricing_tier AS tier,
        b.pricing_tier AS compared_tier,
        a.amount,
        b.amount            AS compared_amount,
        CAST(b.amount AS DECIMAL(38, 6)) - a.amount AS gap
    FROM tier_prices AS a
    JOIN tier_prices AS b ON b.product_listing_id = a.product_listing_id
        AND b.currency IS NOT DISTINCT FROM a.currency
        AND (b.tier_listings < a.tier_listings
            OR (b.tier_listings = a.tier_listings AND b.pricing_tier > a.pricing_tier))
),
tier_gaps AS (
    SELECT
        currency,
        tier,
        compared_tier,
        count(*)                              AS listings,
        quantile_disc(amount, 0.5)            AS price,
        quantile_disc(compared_amount, 0.5)   AS compared_price,
        quantile_disc(gap, [0.25, 0.5, 0.75]) AS quartiles,
        quantile_disc(100 * gap / nullif(amount, 0), 0.5) AS percent,
        count(*) FILTER (gap < 0)             AS compared_cheaper
    FROM pairs
    WHERE $by = 'tier'
    GROUP BY ALL
),
-- Of equal prices, arg_min takes the tier with the first name. The negative amount is the lowest for the highest price.
spans AS (
    SELECT
        product_listing_id AS listing_id,
        currency,
        arg_min(pricing_tier, (unit_amount, pricing_tier))  AS tier,
        min(unit_amount)                                    AS price,
        arg_min(pricing_tier, (-unit_amount, pricing_tier)) AS compared_tier,
        max(unit_amount)                                    AS compared_price
    FROM product_listing_prices
    WHERE $by = 'listing' AND unit_amount IS NOT NULL AND pricing_tier IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
    GROUP BY ALL
),
listing_gaps AS (
    SELECT *, CAST(compared_price AS DECIMAL(38, 6)) - price AS gap, 100 * gap / price AS percent
    FROM spans
    WHERE price > 0 AND tier <> compared_tier
    ORDER BY percent DESC, listing_id, currency
    LIMIT $top
),
gaps AS (
    SELECT *, NULL AS listing_id
    FROM tier_gaps
    UNION ALL BY NAME
    -- The quartiles of one listing are its gap.
    SELECT * EXCLUDE (gap), 1 AS listings, [gap, gap, gap] AS quartiles, 0 AS compared_cheaper
    FROM listing_gaps
)
SELECT
    g.currency,
    tier,
    compared_tier,
    listings,
    CAST(price AS DECIMAL(18, 2))          AS median_price,
    CAST(compared_price AS DECIMAL(18, 2)) AS compared_median_price,
    CAST(quartiles[1] AS DECIMAL(18, 2))   AS p25_gap,
    CAST(quartiles[2] AS DECIMAL(18, 2))   AS median_gap,
    CAST(quartiles[3] AS DECIMAL(18, 2))   AS p75_gap,
    CAST(percent AS DECIMAL(38, 1))        AS median_gap_percent,
    compared_cheaper,
    listing_id,
    l.name                                 AS listing_name,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name
FROM gaps AS g
LEFT JOIN product_listings AS l ON l.id = g.listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY listings DESC, CASE WHEN $by = 'listing' THEN percent END DESC, listing_id, g.currency, tier, compared_tier
