-- subject: prices
-- replacement: premium --param by=placement_type
-- title: Premium of each placement type
-- grain: one row per tier, currency and placement type
-- about: Price premium of each placement type. premium_percent compares the median price of the placement type with the median of all prices of the tier and currency. like_premium_percent compares the placement type with the other placement types in the same country, authority band, channel type and kind of link (a segment). It is the median of these comparisons, weighted by the number of prices, and empty if fewer than "min_prices" prices are compared. like_segments and like_prices count the compared segments and prices. The tier and currency with the most prices come first.
-- also: article, mention, link, surcharge, markup, cost, kind
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: min_prices COUNT 5 -- minimum number of prices of a row and of a comparison
SELECT
    pricing_tier,
    currency,
    value AS placement_type,
    prices,
    CAST(median_price AS DECIMAL(18, 2))         AS median_price,
    CAST(median_all AS DECIMAL(18, 2))           AS median_all,
    CAST(premium_percent AS DECIMAL(38, 1))      AS premium_percent,
    like_segments,
    like_prices,
    CASE WHEN like_prices >= $min_prices THEN CAST(like_premium_percent AS DECIMAL(38, 1)) END AS like_premium_percent
FROM mart.price_premiums
WHERE trait = 'placement_type' AND ($currency IS NULL OR currency = $currency) AND prices >= $min_prices
ORDER BY market_prices DESC, pricing_tier, currency, placement_type
