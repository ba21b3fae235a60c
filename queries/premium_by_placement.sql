-- subject: prices
-- title: Premium of each placement type
-- grain: one row per tier, currency and placement type
-- about: What a type of placement costs more or less. premium_percent compares its median price with the median of all prices of the tier and currency; like_premium_percent compares like with like: within each country, authority band, channel type and kind of link, what the median price is to that of each other value there, and of all these ratios the median, weighted by prices, so that a single price decides nothing; segments without others do not count, and it is empty when fewer than min_prices are compared. The tier and currency with most prices come first. Percent are rounded to 1 place.
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: min_prices COUNT 5 -- leave out rows with fewer prices, and comparisons of fewer
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
