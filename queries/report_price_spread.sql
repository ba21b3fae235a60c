-- title: Price spread by one segment at a time
-- grain: one row per way to segment, segment, pricing tier and currency
-- about: What a placement costs by placement type, by channel type and by country, for the boxes of the report. Quartiles and median are prices that occur (the lower one of two in the middle); all are rounded to 2 places. The tier and currency with most prices come first, and in them the segments with most listings. A segment that the service does not name is NULL.
-- param: top COUNT 15 -- segments of each way, tier and currency at most
WITH prices AS (
    SELECT listing_id, placement_type, channel_type, country, pricing_tier, currency, unit_amount,
        count(*) OVER (PARTITION BY pricing_tier, currency) AS market
    FROM mart.listing_prices
),
segmented AS (
    SELECT 'placement type' AS segment_by, 1 AS way, placement_type AS segment, * FROM prices
    UNION ALL
    SELECT 'channel type', 2, channel_type, * FROM prices
    UNION ALL
    SELECT 'country', 3, country, * FROM prices
),
segments AS (
    SELECT
        way, segment_by, segment, pricing_tier, currency, market,
        count(DISTINCT listing_id) AS listings,
        min(unit_amount)           AS lowest,
        max(unit_amount)           AS highest,
        quantile_disc(unit_amount, [0.25, 0.5, 0.75]) AS quartiles
    FROM segmented
    GROUP BY ALL
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY way, pricing_tier, currency ORDER BY listings DESC, segment) AS place
    FROM segments
)
SELECT
    segment_by,
    segment,
    pricing_tier,
    currency,
    listings,
    CAST(lowest AS DECIMAL(18, 2))       AS min_price,
    CAST(quartiles[1] AS DECIMAL(18, 2)) AS p25_price,
    CAST(quartiles[2] AS DECIMAL(18, 2)) AS median_price,
    CAST(quartiles[3] AS DECIMAL(18, 2)) AS p75_price,
    CAST(highest AS DECIMAL(18, 2))      AS max_price
FROM ranked
WHERE place <= $top
ORDER BY market DESC, pricing_tier, currency, way, place
