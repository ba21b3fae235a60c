-- subject: prices
-- title: Price by segment
-- grain: one row per country, channel type, placement type, pricing tier and currency
-- about: Prices of placements by segment. Quartiles and median are not interpolated (if two prices are in the middle, the median is the lower one); the mean is computed without floating-point numbers. All are rounded to 2 places, half away from zero. Amounts of different currencies are never mixed; prices without a currency form a segment of their own.
-- also: country, channel, placement, market, average, median, cost, benchmark
-- columns: first country placement_type channel_type pricing_tier median_price currency listings
-- chart: bar x=country y=median_price
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: min_listings COUNT 1 -- leave out segments with fewer listings
WITH prices AS (
    SELECT l.id, l.country, l.channel_type, l.placement_type, p.pricing_tier, p.currency, p.unit_amount
    FROM product_listings AS l
    JOIN product_listing_prices AS p ON p.product_listing_id = l.id
    WHERE p.unit_amount IS NOT NULL
      AND ($currency IS NULL OR p.currency = $currency)
),
segments AS (
    SELECT
        country, channel_type, placement_type, pricing_tier, currency,
        count(DISTINCT id) AS listings,
        min(unit_amount)   AS lowest,
        max(unit_amount)   AS highest,
        -- One call with a list of quantiles keeps the amounts in memory only once.
        quantile_disc(unit_amount, [0.25, 0.5, 0.75]) AS quartiles,
        -- DuckDB divides decimals as floating-point numbers. The mean below is computed with integers:
        -- millionths / divisor is 100 times the mean, and (2 * m + d) // (2 * d) rounds m / d.
        CAST(sum(unit_amount) * 1000000 AS HUGEINT) AS millionths,
        count(*) * 10000                            AS divisor
    FROM prices
    GROUP BY ALL
)
SELECT
    country,
    channel_type,
    placement_type,
    pricing_tier,
    currency,
    listings,
    CAST(lowest AS DECIMAL(18, 2))       AS min_price,
    CAST(quartiles[1] AS DECIMAL(18, 2)) AS p25_price,
    CAST(quartiles[2] AS DECIMAL(18, 2)) AS median_price,
    CAST(quartiles[3] AS DECIMAL(18, 2)) AS p75_price,
    CAST(highest AS DECIMAL(18, 2))      AS max_price,
    CAST(sign(millionths) * ((2 * abs(millionths) + divisor) // (2 * divisor)) AS DECIMAL(20, 0)) * 0.01 AS mean_price
FROM segments
WHERE listings >= $min_listings
ORDER BY country, channel_type, placement_type, pricing_tier, currency
