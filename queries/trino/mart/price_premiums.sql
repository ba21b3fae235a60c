-- What a trait of a placement costs more or less.
WITH traits AS (
    SELECT
        t.trait,
        CASE t.trait WHEN 'channel_type' THEN p.channel_type WHEN 'placement_type' THEN p.placement_type
            ELSE CAST(p.is_do_follow AS VARCHAR) END                     AS value,
        p.pricing_tier,
        p.currency,
        p.unit_amount,
        p.country,
        p.authority_band,
        CASE WHEN t.trait <> 'channel_type' THEN p.channel_type END     AS other_channel,
        CASE WHEN t.trait <> 'placement_type' THEN p.placement_type END AS other_placement,
        CASE WHEN t.trait <> 'is_do_follow' THEN p.is_do_follow END     AS other_link
    FROM ${mart}.listing_prices AS p
    CROSS JOIN (VALUES ('channel_type'), ('placement_type'), ('is_do_follow')) AS t (trait)
),
segments AS (
    SELECT trait, value, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link,
        array_agg(unit_amount) AS amounts
    FROM traits
    GROUP BY trait, value, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link
),
gathered AS (
    SELECT
        trait,
        value,
        pricing_tier,
        currency,
        amounts,
        array_agg(ROW(value, amounts)) OVER (
            PARTITION BY trait, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link) AS entries
    FROM segments
),
-- The others of a price are those of its segment that have another value of the trait.
compared AS (
    SELECT trait, value, pricing_tier, currency, amounts,
        array_sort(flatten(transform(filter(entries, e -> e[1] IS DISTINCT FROM value), e -> e[2]))) AS others
    FROM gathered
),
against AS (
    SELECT trait, value, pricing_tier, currency, amounts, element_at(others, greatest(1, CAST(ceil(0.5 * cardinality(others)) AS INTEGER))) AS median
    FROM compared
),
-- Divided as DuckDB divides: in binary.
alike AS (
    SELECT
        trait,
        value,
        pricing_tier,
        currency,
        count(*)                  AS like_segments,
        sum(cardinality(amounts)) AS like_prices,
        array_sort(flatten(array_agg(transform(amounts, a -> CAST(a AS DOUBLE) / CAST(median AS DOUBLE))))) AS ratios
    FROM against
    WHERE median > 0
    GROUP BY trait, value, pricing_tier, currency
),
medians AS (
    SELECT trait, value, pricing_tier, currency, array_sort(array_agg(unit_amount) FILTER (WHERE unit_amount IS NOT NULL)) AS amounts
    FROM traits
    GROUP BY trait, value, pricing_tier, currency
),
totals AS (
    SELECT pricing_tier, currency, array_sort(array_agg(unit_amount) FILTER (WHERE unit_amount IS NOT NULL)) AS amounts
    FROM ${mart}.listing_prices
    GROUP BY pricing_tier, currency
),
found AS (
    SELECT
        m.pricing_tier,
        m.currency,
        m.trait,
        m.value,
        cardinality(m.amounts)                                                     AS prices,
        element_at(m.amounts, CAST(ceil(0.5 * cardinality(m.amounts)) AS INTEGER))        AS median,
        element_at(t.amounts, CAST(ceil(0.5 * cardinality(t.amounts)) AS INTEGER))        AS median_all,
        cardinality(t.amounts)                                              AS market_prices
    FROM medians AS m
    JOIN totals AS t ON t.pricing_tier IS NOT DISTINCT FROM m.pricing_tier AND t.currency IS NOT DISTINCT FROM m.currency
)
SELECT
    f.pricing_tier,
    f.currency,
    f.trait,
    f.value,
    CAST(f.prices AS BIGINT)                          AS prices,
    f.median                                          AS median_price,
    f.median_all,
    CAST(100 * (f.median - f.median_all) AS DOUBLE) / CAST(nullif(f.median_all, 0) AS DOUBLE) AS premium_percent,
    coalesce(a.like_segments, 0)                      AS like_segments,
    coalesce(a.like_prices, 0)                        AS like_prices,
    100 * (element_at(a.ratios, CAST(ceil(0.5 * cardinality(a.ratios)) AS INTEGER)) - 1) AS like_premium_percent,
    CAST(f.market_prices AS BIGINT)                   AS market_prices
FROM found AS f
LEFT JOIN alike AS a ON a.trait = f.trait
    AND a.value IS NOT DISTINCT FROM f.value
    AND a.pricing_tier IS NOT DISTINCT FROM f.pricing_tier
    AND a.currency IS NOT DISTINCT FROM f.currency
