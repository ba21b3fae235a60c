-- Price by domain authority
-- Listings whose authority is unknown or not between 0 and 100 form a band of their own.
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency,
        CAST(NULL AS {{text}}) AS tier
),
bands AS (
    SELECT
        p.pricing_tier,
        p.currency,
        p.authority_band,
        count(*)                                  AS prices,
        {{sorted "p.unit_amount"}}   AS sorted_amounts,
        {{sorted_where "CAST(p.unit_amount AS DOUBLE) / nullif(p.domain_authority, 0)" "p.domain_authority > 0"}} AS sorted_per_point
    FROM ${mart}.listing_prices AS p
    CROSS JOIN params
    WHERE (params.currency IS NULL OR p.currency = params.currency)
      AND (params.tier IS NULL OR p.pricing_tier = params.tier)
    GROUP BY p.pricing_tier, p.currency, p.authority_band
),
medians AS (
    SELECT
        *,
        {{quantile "sorted_per_point" "0.5" (size "sorted_per_point")}} AS per_point,
        sum(prices) OVER (PARTITION BY pricing_tier, currency) AS price_count
    FROM bands
)
SELECT
    pricing_tier,
    currency,
    authority_band,
    prices,
    CAST({{quantile "sorted_amounts" "0.25" "prices"}} AS DECIMAL(18, 2)) AS p25_price,
    CAST({{quantile "sorted_amounts" "0.5" "prices"}} AS DECIMAL(18, 2))  AS median_price,
    CAST({{quantile "sorted_amounts" "0.75" "prices"}} AS DECIMAL(18, 2)) AS p75_price,
    CAST(round(per_point * 10000) / 10000 AS DECIMAL(18, 4))               AS median_price_per_point
FROM medians
ORDER BY price_count DESC, pricing_tier NULLS LAST, currency NULLS LAST, authority_band NULLS LAST
