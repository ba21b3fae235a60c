-- Premium of each placement type
-- The like_ columns compare only prices with the same country, authority band, channel type and
-- kind of link. market_prices is the number of prices of the tier and currency.
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency,
        CAST(5 AS BIGINT) AS min_prices
)
SELECT
    p.pricing_tier,
    p.currency,
    p.value AS placement_type,
    p.prices,
    CAST(p.median_price AS DECIMAL(18, 2))         AS median_price,
    CAST(p.median_all AS DECIMAL(18, 2))           AS median_all,
    CAST(round(p.premium_percent * 10) / 10 AS DECIMAL(38, 1))           AS premium_percent,
    p.like_segments,
    p.like_prices,
    CASE WHEN p.like_prices >= params.min_prices THEN CAST(round(p.like_premium_percent * 10) / 10 AS DECIMAL(38, 1)) END AS like_premium_percent
FROM ${mart}.price_premiums AS p
CROSS JOIN params
WHERE p.trait = 'placement_type' AND (params.currency IS NULL OR p.currency = params.currency) AND p.prices >= params.min_prices
ORDER BY p.market_prices DESC, p.pricing_tier NULLS LAST, p.currency NULLS LAST, placement_type NULLS LAST
