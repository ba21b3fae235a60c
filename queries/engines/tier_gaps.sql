-- Gaps between tiers
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency
),
lowest_prices AS (
    SELECT p.product_listing_id, p.currency, p.pricing_tier, min(p.unit_amount) AS amount
    FROM ${current}.product_listing_prices AS p
    CROSS JOIN params
    WHERE p.unit_amount IS NOT NULL AND p.pricing_tier IS NOT NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
    GROUP BY p.product_listing_id, p.currency, p.pricing_tier
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
-- The column tier is the tier with more listings, and compared_tier is the other tier.
pairs AS (
    SELECT
        a.currency,
        a.pricing_tier AS tier,
        b.pricing_tier AS compared_tier,
        a.amount,
        b.amount            AS compared_amount,
        b.amount - a.amount AS gap,
        CAST(100 * (b.amount - a.amount) AS DOUBLE) / CAST(nullif(a.amount, 0) AS DOUBLE) AS percent
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
        count(*)                            AS listings,
        {{sorted "amount"}}          AS amounts,
        {{sorted "compared_amount"}} AS compared_amounts,
        {{sorted "gap"}}             AS sorted_gaps,
        {{sorted "percent"}} AS percents,
        count(*) FILTER (WHERE gap < 0)     AS compared_cheaper
    FROM pairs
    GROUP BY currency, tier, compared_tier
)
SELECT
    currency,
    tier,
    compared_tier,
    listings,
    CAST({{quantile "amounts" "0.5" "listings"}} AS DECIMAL(18, 2))          AS median_price,
    CAST({{quantile "compared_amounts" "0.5" "listings"}} AS DECIMAL(18, 2)) AS compared_median_price,
    CAST({{quantile "sorted_gaps" "0.25" "listings"}} AS DECIMAL(18, 2)) AS p25_gap,
    CAST({{quantile "sorted_gaps" "0.5" "listings"}} AS DECIMAL(18, 2))  AS median_gap,
    CAST({{quantile "sorted_gaps" "0.75" "listings"}} AS DECIMAL(18, 2)) AS p75_gap,
    CAST(round({{quantile "percents" "0.5" (size "percents")}} * 10) / 10 AS DECIMAL(38, 1))   AS median_gap_percent,
    compared_cheaper
FROM gaps
ORDER BY listings DESC, currency NULLS LAST, tier, compared_tier
