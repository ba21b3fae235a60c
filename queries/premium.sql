-- subject: prices
-- title: Premium of a channel, a placement or a do-follow link
-- grain: one row per tier, currency and value of the column "by"
-- about: Price premium of each channel type, placement type or kind of link ("by"). premium_percent compares the median price of the value with the median of all prices of the tier and currency. like_premium_percent compares the value with the other values of the column within segments. A segment has one country, one authority band, and one value of each of the other two columns of "by". The result is the median of these comparisons, weighted by the number of prices, and empty if fewer than "min_prices" prices are compared. like_segments and like_prices count the compared segments and prices. The tier and currency with the most prices come first.
-- also: channel, placement, dofollow, nofollow, SEO, backlink, surcharge, markup, cost
-- heading: median_all Median of all prices
-- heading: like_segments Compared segments
-- heading: like_prices Compared prices
-- heading: like_premium_percent Premium within segments, %
-- param: by channel_type|placement_type|is_do_follow is_do_follow -- column whose values are compared
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: min_prices COUNT 5 -- minimum number of prices of a row and of a comparison
SELECT
    pricing_tier,
    currency,
    value,
    prices,
    CAST(median_price AS DECIMAL(18, 2))         AS median_price,
    CAST(median_all AS DECIMAL(18, 2))           AS median_all,
    CAST(premium_percent AS DECIMAL(38, 1))      AS premium_percent,
    like_segments,
    like_prices,
    CASE WHEN like_prices >= $min_prices THEN CAST(like_premium_percent AS DECIMAL(38, 1)) END AS like_premium_percent
FROM mart.price_premiums
WHERE trait = $by AND ($currency IS NULL OR currency = $currency) AND prices >= $min_prices
ORDER BY market_prices DESC, pricing_tier, currency, value
