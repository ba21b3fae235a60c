-- Price premiums of the traits of a placement.
-- grain: one row per tier, currency, trait and value
CREATE VIEW mart.price_premiums AS
-- Each price has a row for each trait. The columns other_* contain the other two traits of the price.
WITH traits AS (
    SELECT
        t.trait,
        CASE t.trait WHEN 'channel_type' THEN p.channel_type WHEN 'placement_type' THEN p.placement_type
            ELSE CAST(p.is_do_follow AS VARCHAR) END                 AS value,
        p.pricing_tier,
        p.currency,
        p.unit_amount,
        p.country,
        p.authority_band,
        CASE WHEN t.trait <> 'channel_type' THEN p.channel_type END     AS other_channel,
        CASE WHEN t.trait <> 'placement_type' THEN p.placement_type END AS other_placement,
        CASE WHEN t.trait <> 'is_do_follow' THEN p.is_do_follow END     AS other_link
    FROM mart.listing_prices AS p
    CROSS JOIN (VALUES ('channel_type'), ('placement_type'), ('is_do_follow')) AS t(trait)
),
-- The prices of a segment have the same tier, currency, country, authority band and other two traits. Each
-- row is one value of the trait in one segment. The like_* columns compare like with like: within segments.
value_medians AS (
    SELECT trait, value, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link,
        count(*) AS own_prices, quantile_disc(unit_amount, 0.5) AS median
    FROM traits
    GROUP BY ALL
),
-- segment_medians contains all values of the segment with their medians. other_value_count is the number of the other
-- values whose median is above 0.
segment_values AS (
    SELECT
        trait,
        value,
        pricing_tier,
        currency,
        own_prices,
        median,
        list({'value': value, 'median': median}) OVER (
            PARTITION BY trait, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link) AS segment_medians,
        sum(CASE WHEN median > 0 THEN 1 ELSE 0 END) OVER (
            PARTITION BY trait, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link)
            - CASE WHEN median > 0 THEN 1 ELSE 0 END AS other_value_count
    FROM value_medians
),
value_pairs AS (
    SELECT trait, value, pricing_tier, currency, own_prices, median, unnest(segment_medians) AS segment_value
    FROM segment_values
    WHERE other_value_count > 0
),
ratios AS (
    SELECT trait, value, pricing_tier, currency, own_prices, median / segment_value.median AS ratio
    FROM value_pairs
    WHERE segment_value.median > 0 AND segment_value.value IS DISTINCT FROM value
),
-- Each ratio is weighted by own_prices.
running_counts AS (
    SELECT
        *,
        sum(own_prices) OVER (PARTITION BY trait, value, pricing_tier, currency ORDER BY ratio ROWS UNBOUNDED PRECEDING) AS running_total,
        sum(own_prices) OVER (PARTITION BY trait, value, pricing_tier, currency) AS total
    FROM ratios
),
-- The ratio of a value is the weighted median: the lowest ratio whose running total is at least half of the total.
median_ratios AS (
    SELECT trait, value, pricing_tier, currency, min(ratio) FILTER (2 * running_total >= total) AS ratio
    FROM running_counts
    GROUP BY ALL
),
like_counts AS (
    SELECT trait, value, pricing_tier, currency, count(*) AS like_segments, CAST(sum(own_prices) AS BIGINT) AS like_prices
    FROM segment_values
    WHERE other_value_count > 0
    GROUP BY ALL
),
like_premiums AS (
    SELECT c.trait, c.value, c.pricing_tier, c.currency, c.like_segments, c.like_prices, 100 * (m.ratio - 1) AS like_premium
    FROM like_counts AS c
    JOIN median_ratios AS m ON m.trait = c.trait
        AND m.value IS NOT DISTINCT FROM c.value
        AND m.pricing_tier IS NOT DISTINCT FROM c.pricing_tier
        AND m.currency IS NOT DISTINCT FROM c.currency
),
medians AS (
    SELECT trait, value, pricing_tier, currency, count(*) AS prices, quantile_disc(unit_amount, 0.5) AS median
    FROM traits
    GROUP BY ALL
),
totals AS (
    SELECT pricing_tier, currency, count(*) AS prices, quantile_disc(unit_amount, 0.5) AS median
    FROM mart.listing_prices
    GROUP BY ALL
)
SELECT
    m.pricing_tier,
    m.currency,
    m.trait,
    m.value,
    m.prices,
    m.median AS median_price,
    t.median AS median_all,
    100 * (CAST(m.median AS DECIMAL(38, 6)) - t.median) / nullif(t.median, 0) AS premium_percent,
    coalesce(l.like_segments, 0)                      AS like_segments,
    coalesce(l.like_prices, 0)                        AS like_prices,
    l.like_premium                                    AS like_premium_percent,
    t.prices                                          AS market_prices
FROM medians AS m
JOIN totals AS t ON t.pricing_tier IS NOT DISTINCT FROM m.pricing_tier AND t.currency IS NOT DISTINCT FROM m.currency
LEFT JOIN like_premiums AS l ON l.trait = m.trait
    AND l.value IS NOT DISTINCT FROM m.value
    AND l.pricing_tier IS NOT DISTINCT FROM m.pricing_tier
    AND l.currency IS NOT DISTINCT FROM m.currency;

COMMENT ON VIEW mart.price_premiums IS 'Price premiums of channel type, placement type and do-follow links, one row per value of a trait within a tier and currency. premium_percent compares the median price of the value with the median of all prices. like_premium_percent compares within segments: the median of the value with the median of every other value in the same segment. The prices of a segment have the same country, authority band and other two traits; segments with only one value are left out.';
COMMENT ON COLUMN mart.price_premiums.pricing_tier IS 'Pricing tier.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.currency IS 'Currency, in upper case if it has three letters; NULL if the service states no currency.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.trait IS 'Compared column of mart.listing_prices: channel_type, placement_type or is_do_follow. Query one trait at a time.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.value IS 'Value of the trait as text; NULL if unknown.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.prices IS 'Number of prices with this value.'; -- BIGINT
COMMENT ON COLUMN mart.price_premiums.median_price IS 'Median of these prices, in units of currency; an even number of prices gives the lower middle price.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.price_premiums.median_all IS 'Median of all prices of the tier and currency, in units of currency.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.price_premiums.premium_percent IS 'Difference of median_price from median_all, in percent of median_all; NULL if median_all is 0.'; -- DOUBLE
COMMENT ON COLUMN mart.price_premiums.like_segments IS 'Number of segments that contain this value and at least one other value of the trait.'; -- BIGINT
COMMENT ON COLUMN mart.price_premiums.like_prices IS 'Number of prices with this value in the segments that like_segments counts.'; -- BIGINT
COMMENT ON COLUMN mart.price_premiums.like_premium_percent IS 'Median of the differences, in percent, between the median of this value and the median of another value in the same segment, weighted by the number of prices with this value; NULL if like_segments is 0.'; -- DOUBLE
COMMENT ON COLUMN mart.price_premiums.market_prices IS 'Number of prices of the tier and currency.'; -- BIGINT
