-- title: Premium of each channel type
-- grain: one row per tier, currency and channel type
-- about: What a type of channel costs more or less. premium_percent compares its median price with the median of all prices of the tier and currency; like_premium_percent compares like with like: within each country, authority band, placement type and kind of link, the mean price against the mean of all other prices there, weighted by the number of prices; segments without others do not count. Percent are rounded to 1 place.
-- param: currency VARCHAR NULL -- only prices in this currency
-- param: min_prices COUNT 1 -- leave out rows with fewer prices
WITH prices AS (
    SELECT pricing_tier, currency, country, authority_band, placement_type, is_do_follow, channel_type, unit_amount
    FROM mart.listing_prices
    WHERE $currency IS NULL OR currency = $currency
),
segments AS (
    SELECT pricing_tier, currency, country, authority_band, placement_type, is_do_follow, channel_type, count(*) AS own, sum(unit_amount) AS own_sum
    FROM prices
    GROUP BY ALL
),
compared AS (
    SELECT
        *,
        sum(own) OVER segment - own         AS others,
        sum(own_sum) OVER segment - own_sum AS others_sum
    FROM segments
    WINDOW segment AS (PARTITION BY pricing_tier, currency, country, authority_band, placement_type, is_do_follow)
),
alike AS (
    SELECT
        pricing_tier,
        currency,
        channel_type,
        count(*)  AS like_segments,
        sum(own)  AS like_prices,
        100 * sum(own * ((own_sum / own) / (others_sum / others) - 1)) / sum(own) AS like_premium
    FROM compared
    WHERE others > 0 AND others_sum > 0
    GROUP BY ALL
),
medians AS (
    SELECT pricing_tier, currency, channel_type, count(*) AS prices, quantile_disc(unit_amount, 0.5) AS median
    FROM prices
    GROUP BY ALL
),
totals AS (
    SELECT pricing_tier, currency, quantile_disc(unit_amount, 0.5) AS median FROM prices GROUP BY ALL
)
SELECT
    m.pricing_tier,
    m.currency,
    m.channel_type,
    m.prices,
    CAST(m.median AS DECIMAL(18, 2)) AS median_price,
    CAST(t.median AS DECIMAL(18, 2)) AS median_all,
    CAST(100 * (m.median - t.median) / nullif(t.median, 0) AS DECIMAL(38, 1)) AS premium_percent,
    coalesce(a.like_segments, 0)               AS like_segments,
    CAST(coalesce(a.like_prices, 0) AS BIGINT) AS like_prices,
    CAST(a.like_premium AS DECIMAL(38, 1))     AS like_premium_percent
FROM medians AS m
JOIN totals AS t ON t.pricing_tier IS NOT DISTINCT FROM m.pricing_tier AND t.currency IS NOT DISTINCT FROM m.currency
LEFT JOIN alike AS a ON a.pricing_tier IS NOT DISTINCT FROM m.pricing_tier
    AND a.currency IS NOT DISTINCT FROM m.currency
    AND a.channel_type IS NOT DISTINCT FROM m.channel_type
WHERE m.prices >= $min_prices
ORDER BY m.pricing_tier, m.currency, m.channel_type
