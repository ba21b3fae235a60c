-- Price by segment
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency,
        CAST(1 AS BIGINT) AS min_listings
),
prices AS (
    SELECT l.id, l.country, l.channel_type, l.placement_type, p.pricing_tier, p.currency, p.unit_amount
    FROM ${current}.product_listings AS l
    JOIN ${current}.product_listing_prices AS p ON p.product_listing_id = l.id
    CROSS JOIN params
    WHERE p.unit_amount IS NOT NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
),
segments AS (
    SELECT
        country, channel_type, placement_type, pricing_tier, currency,
        count(DISTINCT id) AS listings,
        count(*)           AS prices,
        {{sorted "unit_amount"}} AS sorted_amounts,
        sum(unit_amount)   AS total_amount
    FROM prices
    GROUP BY country, channel_type, placement_type, pricing_tier, currency
)
SELECT
    s.country,
    s.channel_type,
    s.placement_type,
    s.pricing_tier,
    s.currency,
    s.listings,
    CAST(element_at(s.sorted_amounts, 1) AS DECIMAL(18, 2))                                 AS min_price,
    CAST({{quantile "s.sorted_amounts" "0.25" "s.prices"}} AS DECIMAL(18, 2)) AS p25_price,
    CAST({{quantile "s.sorted_amounts" "0.5" "s.prices"}} AS DECIMAL(18, 2))  AS median_price,
    CAST({{quantile "s.sorted_amounts" "0.75" "s.prices"}} AS DECIMAL(18, 2)) AS p75_price,
{{- if spark}}
    CAST(get(s.sorted_amounts, CAST(s.prices AS INT) - 1) AS DECIMAL(18, 2))                AS max_price,
    CAST(s.total_amount / s.prices AS DECIMAL(22, 2))                                      AS mean_price
{{- else}}
    CAST(element_at(s.sorted_amounts, s.prices) AS DECIMAL(18, 2))                AS max_price,
    CAST(CAST(s.total_amount AS DECIMAL(38, 16)) / s.prices AS DECIMAL(22, 2))                                      AS mean_price
{{- end}}
FROM segments AS s
CROSS JOIN params
WHERE s.listings >= params.min_listings
ORDER BY s.country NULLS LAST, s.channel_type NULLS LAST, s.placement_type NULLS LAST, s.pricing_tier NULLS LAST, s.currency NULLS LAST
