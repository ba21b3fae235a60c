-- Price premiums of the traits of a placement.
-- Each price has a row for each trait. In the row of a trait, two of the columns other_channel,
-- other_placement and other_link contain the other two traits of the price.
WITH traits AS (
    SELECT
        t.trait,
        CASE t.trait WHEN 'channel_type' THEN p.channel_type WHEN 'placement_type' THEN p.placement_type
            ELSE CAST(p.is_do_follow AS {{text}}) END                     AS value,
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
-- The prices of a segment have the same tier, currency, country, authority band and other two traits. Each
-- row is one value of the trait in one segment.
value_amounts AS (
    SELECT trait, value, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link,
        count(*) AS own_prices, {{sorted "unit_amount"}} AS amounts
    FROM traits
    GROUP BY trait, value, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link
),
value_medians AS (
    SELECT trait, value, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link, own_prices,
        {{quantile "amounts" "0.5" (size "amounts")}} AS median
    FROM value_amounts
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
        {{collect}}({{tuple}}(value, median)) OVER (
            PARTITION BY trait, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link) AS segment_medians,
        sum(CASE WHEN median > 0 THEN 1 ELSE 0 END) OVER (
            PARTITION BY trait, pricing_tier, currency, country, authority_band, other_channel, other_placement, other_link)
            - CASE WHEN median > 0 THEN 1 ELSE 0 END AS other_value_count
    FROM value_medians
),
{{- if spark}}
value_pairs AS (
    SELECT trait, value, pricing_tier, currency, own_prices, median, explode(segment_medians) AS segment_value
    FROM segment_values
    WHERE other_value_count > 0
),
{{- end}}
-- The ratios are floating-point numbers, because DuckDB divides decimals in this way.
ratios AS (
{{- if spark}}
    SELECT trait, value, pricing_tier, currency, own_prices, CAST(median AS DOUBLE) / CAST(segment_value.median AS DOUBLE) AS ratio
    FROM value_pairs
    WHERE segment_value.median > 0 AND NOT (segment_value.value <=> value)
{{- else}}
    SELECT g.trait, g.value, g.pricing_tier, g.currency, g.own_prices, CAST(g.median AS DOUBLE) / CAST(s.segment_median AS DOUBLE) AS ratio
    FROM segment_values AS g
    CROSS JOIN UNNEST(g.segment_medians) AS s (segment_value, segment_median)
    WHERE g.other_value_count > 0 AND s.segment_median > 0 AND s.segment_value IS DISTINCT FROM g.value
{{- end}}
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
    SELECT trait, value, pricing_tier, currency, min(ratio) FILTER (WHERE 2 * running_total >= total) AS ratio
    FROM running_counts
    GROUP BY trait, value, pricing_tier, currency
),
-- The columns like_* compare only prices of the same segment.
like_counts AS (
    SELECT trait, value, pricing_tier, currency, count(*) AS like_segments, CAST(sum(own_prices) AS BIGINT) AS like_prices
    FROM segment_values
    WHERE other_value_count > 0
    GROUP BY trait, value, pricing_tier, currency
),
like_premiums AS (
    SELECT c.trait, c.value, c.pricing_tier, c.currency, c.like_segments, c.like_prices, 100 * (r.ratio - 1) AS like_premium
    FROM like_counts AS c
    JOIN median_ratios AS r ON r.trait = c.trait
        AND r.value IS NOT DISTINCT FROM c.value
        AND r.pricing_tier IS NOT DISTINCT FROM c.pricing_tier
        AND r.currency IS NOT DISTINCT FROM c.currency
),
amounts_by_value AS (
    SELECT trait, value, pricing_tier, currency, {{sorted "unit_amount"}} AS amounts
    FROM traits
    GROUP BY trait, value, pricing_tier, currency
),
amounts_by_market AS (
    SELECT pricing_tier, currency, {{sorted "unit_amount"}} AS amounts
    FROM ${mart}.listing_prices
    GROUP BY pricing_tier, currency
),
premiums AS (
    SELECT
        v.pricing_tier,
        v.currency,
        v.trait,
        v.value,
        {{size "v.amounts"}}                                                     AS prices,
        {{quantile "v.amounts" "0.5" (size "v.amounts")}}        AS median,
        {{quantile "m.amounts" "0.5" (size "m.amounts")}}        AS median_all,
        {{size "m.amounts"}}                                                     AS market_prices
    FROM amounts_by_value AS v
    JOIN amounts_by_market AS m ON m.pricing_tier IS NOT DISTINCT FROM v.pricing_tier AND m.currency IS NOT DISTINCT FROM v.currency
)
SELECT
    p.pricing_tier,
    p.currency,
    p.trait,
    p.value,
    CAST(p.prices AS BIGINT)                          AS prices,
    p.median                                          AS median_price,
    p.median_all,
    CAST(100 * (p.median - p.median_all) AS DOUBLE) / CAST(nullif(p.median_all, 0) AS DOUBLE) AS premium_percent,
    coalesce(l.like_segments, 0)                      AS like_segments,
    coalesce(l.like_prices, 0)                        AS like_prices,
    l.like_premium                                    AS like_premium_percent,
    CAST(p.market_prices AS BIGINT)                   AS market_prices
FROM premiums AS p
LEFT JOIN like_premiums AS l ON l.trait = p.trait
    AND l.value IS NOT DISTINCT FROM p.value
    AND l.pricing_tier IS NOT DISTINCT FROM p.pricing_tier
    AND l.currency IS NOT DISTINCT FROM p.currency
