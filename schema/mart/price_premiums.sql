-- What a trait of a placement costs more or less.
-- grain: one row per tier, currency, trait and value of it that prices have
CREATE VIEW mart.price_premiums AS
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
segments AS (
    SELECT trait, value, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link,
        count(*) AS own, sum(unit_amount) AS own_sum
    FROM traits
    GROUP BY ALL
),
compared AS (
    SELECT
        *,
        sum(own) OVER segment - own         AS others,
        sum(own_sum) OVER segment - own_sum AS others_sum
    FROM segments
    WINDOW segment AS (PARTITION BY trait, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link)
),
alike AS (
    SELECT
        trait,
        value,
        pricing_tier,
        currency,
        count(*) AS like_segments,
        sum(own) AS like_prices,
        100 * sum(own * ((own_sum / own) / (others_sum / others) - 1)) / sum(own) AS like_premium
    FROM compared
    WHERE others > 0 AND others_sum > 0
    GROUP BY ALL
),
medians AS (
    SELECT trait, value, pricing_tier, currency, count(*) AS prices, quantile_disc(unit_amount, 0.5) AS median
    FROM traits
    GROUP BY ALL
),
totals AS (
    SELECT pricing_tier, currency, quantile_disc(unit_amount, 0.5) AS median
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
    100 * (m.median - t.median) / nullif(t.median, 0) AS premium_percent,
    coalesce(a.like_segments, 0)                      AS like_segments,
    CAST(coalesce(a.like_prices, 0) AS BIGINT)        AS like_prices,
    a.like_premium                                    AS like_premium_percent
FROM medians AS m
JOIN totals AS t ON t.pricing_tier IS NOT DISTINCT FROM m.pricing_tier AND t.currency IS NOT DISTINCT FROM m.currency
LEFT JOIN alike AS a ON a.trait = m.trait
    AND a.value IS NOT DISTINCT FROM m.value
    AND a.pricing_tier IS NOT DISTINCT FROM m.pricing_tier
    AND a.currency IS NOT DISTINCT FROM m.currency;

COMMENT ON VIEW mart.price_premiums IS 'What channel type, placement type and do-follow links cost more or less, one row per value of a trait within a tier and currency: its median price beside the median of all prices, and, like with like, the mean price against that of all other prices of the same segment. A segment is a country and an authority band with the same other two traits; those without others do not count.';
COMMENT ON COLUMN mart.price_premiums.pricing_tier IS 'Tier that the prices are for.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.currency IS 'Currency as the service writes it; NULL when it names none.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.trait IS 'Column of mart.listing_prices that is compared: channel_type, placement_type or is_do_follow. Ask for one at a time.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.value IS 'Value of the trait as text; NULL when it is not known.'; -- VARCHAR
COMMENT ON COLUMN mart.price_premiums.prices IS 'Prices with this value.'; -- BIGINT
COMMENT ON COLUMN mart.price_premiums.median_price IS 'Their median, one that occurs, in units of currency.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.price_premiums.median_all IS 'Median of all prices of the tier and currency, in units of currency.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.price_premiums.premium_percent IS 'How far median_price is above median_all, in percent; NULL when that is zero.'; -- DOUBLE
COMMENT ON COLUMN mart.price_premiums.like_segments IS 'Segments in which there are others to compare with.'; -- BIGINT
COMMENT ON COLUMN mart.price_premiums.like_prices IS 'Prices with this value in those segments.'; -- BIGINT
COMMENT ON COLUMN mart.price_premiums.like_premium_percent IS 'How far their mean is above that of the others of a segment, in percent, weighted by like_prices; NULL when there are no such segments.'; -- DOUBLE
