-- subject: report
-- title: Price spread by kind of segment
-- grain: one row per kind of segment, segment, pricing tier and currency
-- about: Prices by placement type, by channel type and by country, for the box plots of the report. Quartiles and median are not interpolated (if two prices are in the middle, the median is the lower one); all are rounded to 2 places. The tier and currency with the most prices come first, and within them the segments with the most prices. The segment is NULL if the type or the country is unknown.
-- also: range, quartile, box plot
-- param: top COUNT 15 -- maximum number of segments for each kind, tier and currency
WITH segments AS (
    SELECT
        -- grouping is 0 for a column of the grouping set, and 1 for a column that the set leaves out.
        CASE WHEN grouping(placement_type) = 0 THEN 1 WHEN grouping(channel_type) = 0 THEN 2 ELSE 3 END AS segment_kind,
        CASE segment_kind WHEN 1 THEN placement_type WHEN 2 THEN channel_type ELSE country END AS segment,
        pricing_tier,
        currency,
        count(*)         AS prices,
        min(unit_amount) AS lowest,
        max(unit_amount) AS highest,
        quantile_disc(unit_amount, [0.25, 0.5, 0.75]) AS quartiles
    FROM mart.listing_prices
    GROUP BY GROUPING SETS (
        (placement_type, pricing_tier, currency), (channel_type, pricing_tier, currency), (country, pricing_tier, currency))
),
ranked_segments AS (
    SELECT
        *,
        sum(prices) OVER (PARTITION BY segment_kind, pricing_tier, currency) AS price_count,
        row_number() OVER (PARTITION BY segment_kind, pricing_tier, currency ORDER BY prices DESC, segment) AS rank
    FROM segments
)
SELECT
    ['placement type', 'channel type', 'country'][segment_kind] AS segment_by,
    segment,
    pricing_tier,
    currency,
    prices,
    CAST(lowest AS DECIMAL(18, 2))       AS min_price,
    CAST(quartiles[1] AS DECIMAL(18, 2)) AS p25_price,
    CAST(quartiles[2] AS DECIMAL(18, 2)) AS median_price,
    CAST(quartiles[3] AS DECIMAL(18, 2)) AS p75_price,
    CAST(highest AS DECIMAL(18, 2))      AS max_price
FROM ranked_segments
WHERE rank <= $top
ORDER BY price_count DESC, pricing_tier, currency, segment_kind, rank
