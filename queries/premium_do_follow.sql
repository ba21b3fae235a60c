-- subject: prices
-- replacement: premium --param by=is_do_follow
-- title: Premium of do-follow links
-- grain: one row per tier, currency and value of is_do_follow (empty if unknown)
-- about: Price premium of placements with and without do-follow links. premium_percent compares the median price of each kind of link with the median of all prices of the tier and currency. like_premium_percent compares it with the other kinds of link in the same country, authority band, channel type and placement type (a segment). It is the median of these comparisons, weighted by the number of prices, and empty if fewer than "min_prices" prices are compared. like_segments and like_prices count the compared segments and prices. The tier and currency with the most prices come first.
-- also: dofollow, nofollow, SEO, backlink, surcharge, cost
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: min_prices COUNT 5 -- minimum number of prices of a row and of a comparison
SELECT
    pricing_tier,
    currency,
    CAST(value AS BOOLEAN) AS is_do_follow,
    prices,
    CAST(median_price AS DECIMAL(18, 2))         AS median_price,
    CAST(median_all AS DECIMAL(18, 2))           AS median_all,
    CAST(premium_percent AS DECIMAL(38, 1))      AS premium_percent,
    like_segments,
    like_prices,
    CASE WHEN like_prices >= $min_prices THEN CAST(like_premium_percent AS DECIMAL(38, 1)) END AS like_premium_percent
FROM mart.price_premiums
WHERE trait = 'is_do_follow' AND ($currency IS NULL OR currency = $currency) AND prices >= $min_prices
ORDER BY market_prices DESC, pricing_tier, currency, is_do_follow
