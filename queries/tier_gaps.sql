-- subject: prices
-- title: Gaps between tiers
-- grain: one row per currency and pair of tiers, pairs with the most listings first
-- about: Price difference between two tiers for the same product. The column tier is the tier with more listings, and compared_tier is the other tier. The gap is the price of compared_tier less the price of tier, for each listing that has both prices in one currency; quartiles are gaps that occurred. compared_cheaper counts the negative gaps. If a listing has several prices of a tier, the lowest counts. Prices without a tier are left out.
-- also: difference, discount, pro, standard, pricing plan, saving
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
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
        AND (b.tier_listings < a.tier_listings OR b.tier_listings = a.tier_listings AND b.pricing_tier > a.pricing_tier)
),
gaps AS (
    SELECT
        currency,
        tier,
        compared_tier,
        count(*)                              AS listings,
        quantile_disc(amount, 0.5)            AS median_price,
        quantile_disc(compared_amount, 0.5)   AS compared_median_price,
        quantile_disc(gap, [0.25, 0.5, 0.75]) AS quartiles,
        quantile_disc(100 * gap / nullif(amount, 0), 0.5) AS percent,
        count(*) FILTER (gap < 0)             AS compared_cheaper
    FROM pairs
    GROUP BY ALL
)
SELECT
    currency,
    tier,
    compared_tier,
    listings,
    CAST(median_price AS DECIMAL(18, 2))          AS median_price,
    CAST(compared_median_price AS DECIMAL(18, 2)) AS compared_median_price,
    CAST(quartiles[1] AS DECIMAL(18, 2))          AS p25_gap,
    CAST(quartiles[2] AS DECIMAL(18, 2))          AS median_gap,
    CAST(quartiles[3] AS DECIMAL(18, 2))          AS p75_gap,
    CAST(percent AS DECIMAL(38, 1))               AS median_gap_percent,
    compared_cheaper
FROM gaps
ORDER BY listings DESC, currency, tier, compared_tier
