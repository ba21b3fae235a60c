-- Price distribution
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency,
        CAST(NULL AS {{text}}) AS tier
),
price_exponents AS (
    SELECT p.pricing_tier, p.currency, p.unit_amount, length(CAST(CAST(floor(p.unit_amount) AS BIGINT) AS {{text}})) - 1 AS exponent
    FROM ${current}.product_listing_prices AS p
    CROSS JOIN params
    WHERE p.unit_amount IS NOT NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
      AND (params.tier IS NULL OR p.pricing_tier = params.tier)
),
price_powers AS (
    SELECT pricing_tier, currency, unit_amount, exponent, CAST(pow(10, exponent) AS BIGINT) AS power_of_ten
    FROM price_exponents
),
-- Band 0 is below 1. Each power of ten has six bands, which begin at 1, 1.5, 2, 3, 5 and 7.
price_bands AS (
    SELECT
        pricing_tier,
        currency,
        CAST(CASE WHEN unit_amount < 1 THEN 0 ELSE 6 * exponent + CASE
            WHEN 2 * unit_amount < 3 * power_of_ten THEN 1
            WHEN unit_amount < 2 * power_of_ten THEN 2
            WHEN unit_amount < 3 * power_of_ten THEN 3
            WHEN unit_amount < 5 * power_of_ten THEN 4
            WHEN unit_amount < 7 * power_of_ten THEN 5
            ELSE 6
        END END AS INTEGER) AS band
    FROM price_powers
),
-- There are 73 bands: one below 1, and six for each of the 12 powers of ten of DECIMAL(18, 6).
-- The last row has the upper bound of the last band.
bands AS (
{{- if spark}}
    SELECT explode(sequence(0, 73)) AS band
{{- else}}
    SELECT n.band FROM UNNEST(sequence(0, 73)) AS n (band)
{{- end}}
),
bounds AS (
    SELECT band, CASE WHEN band = 0 THEN 0 ELSE element_at({{list "10, 15, 20, 30, 50, 70"}}, 1 + (band + 5) % 6) * pow(10, (band - 1) {{div}} 6) / 10 END AS bound
    FROM bands
),
sorted_bands AS (
    SELECT pricing_tier, currency, count(*) AS prices, min(band) AS lowest_band, max(band) AS highest_band, {{sorted "band"}} AS sorted_values
    FROM price_bands
    GROUP BY pricing_tier, currency
),
-- The shown bands reach from the 1st to the 99th percentile. The first shown band also counts all
-- lower prices, and the last shown band all higher prices.
spans AS (
    SELECT
        pricing_tier,
        currency,
        prices,
        lowest_band,
        highest_band,
        {{quantile "sorted_values" "0.01" (size "sorted_values")}} AS first_band,
        {{quantile "sorted_values" "0.99" (size "sorted_values")}} AS last_band
    FROM sorted_bands
),
shown_bands AS (
    SELECT p.pricing_tier, p.currency, least(greatest(p.band, s.first_band), s.last_band) AS band
    FROM price_bands AS p
    JOIN spans AS s ON s.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND s.currency IS NOT DISTINCT FROM p.currency
),
band_counts AS (
    SELECT pricing_tier, currency, band, count(*) AS prices
    FROM shown_bands
    GROUP BY pricing_tier, currency, band
)
SELECT
    s.pricing_tier,
    s.currency,
    CAST(b.band - s.first_band + 1 AS BIGINT) AS band,
    CASE WHEN b.band > s.first_band OR s.lowest_band = s.first_band THEN CAST(b.bound AS DECIMAL(18, 2)) END AS price_from,
    CASE WHEN b.band < s.last_band OR s.highest_band = s.last_band THEN CAST(e.bound AS DECIMAL(18, 2)) END  AS price_below,
    coalesce(c.prices, 0)       AS prices
FROM spans AS s
JOIN bounds AS b ON b.band BETWEEN s.first_band AND s.last_band
JOIN bounds AS e ON e.band = b.band + 1
LEFT JOIN band_counts AS c ON c.band = b.band
    AND c.pricing_tier IS NOT DISTINCT FROM s.pricing_tier
    AND c.currency IS NOT DISTINCT FROM s.currency
ORDER BY s.prices DESC, s.pricing_tier NULLS LAST, s.currency NULLS LAST, b.band
