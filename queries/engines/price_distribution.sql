-- Price distribution
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency,
        CAST(NULL AS {{text}}) AS tier
),
price_powers AS (
    SELECT p.pricing_tier, p.currency, p.unit_amount, length(CAST(CAST(floor(p.unit_amount) AS BIGINT) AS {{text}})) - 1 AS power
    FROM ${current}.product_listing_prices AS p
    CROSS JOIN params
    WHERE p.unit_amount IS NOT NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
      AND (params.tier IS NULL OR p.pricing_tier = params.tier)
),
price_units AS (
    SELECT pricing_tier, currency, unit_amount, power, CAST(pow(10, power) AS BIGINT) AS unit
    FROM price_powers
),
price_bands AS (
    SELECT
        pricing_tier,
        currency,
        CAST(CASE WHEN unit_amount < 1 THEN 0 ELSE 6 * power + CASE
            WHEN unit_amount - unit < 2 * unit - unit_amount THEN 1
            WHEN unit_amount < 2 * unit THEN 2
            WHEN unit_amount < 3 * unit THEN 3
            WHEN unit_amount < 5 * unit THEN 4
            WHEN unit_amount < 7 * unit THEN 5
            ELSE 6
        END END AS INTEGER) AS place
    FROM price_units
),
places AS (
{{- if spark}}
    SELECT explode(sequence(0, 73)) AS place
{{- else}}
    SELECT n.place FROM UNNEST(sequence(0, 73)) AS n (place)
{{- end}}
),
bounds AS (
    SELECT place, CASE WHEN place = 0 THEN 0 ELSE element_at({{list "10, 15, 20, 30, 50, 70"}}, 1 + (place + 5) % 6) * pow(10, (place - 1) {{div}} 6) / 10 END AS bound
    FROM places
),
sorted_places AS (
    SELECT pricing_tier, currency, count(*) AS prices, min(place) AS lowest, max(place) AS highest, {{sorted "place"}} AS sorted
    FROM price_bands
    GROUP BY pricing_tier, currency
),
spans AS (
    SELECT
        pricing_tier,
        currency,
        prices,
        lowest,
        highest,
        {{nth "sorted" "0.01" (size "sorted")}} AS first_place,
        {{nth "sorted" "0.99" (size "sorted")}} AS last_place
    FROM sorted_places
),
shown_bands AS (
    SELECT p.pricing_tier, p.currency, least(greatest(p.place, s.first_place), s.last_place) AS place
    FROM price_bands AS p
    JOIN spans AS s ON s.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND s.currency IS NOT DISTINCT FROM p.currency
),
band_counts AS (
    SELECT pricing_tier, currency, place, count(*) AS prices
    FROM shown_bands
    GROUP BY pricing_tier, currency, place
)
SELECT
    s.pricing_tier,
    s.currency,
    CAST(b.place - s.first_place + 1 AS BIGINT) AS band,
    CASE WHEN b.place > s.first_place OR s.lowest = s.first_place THEN CAST(b.bound AS DECIMAL(18, 2)) END AS price_from,
    CASE WHEN b.place < s.last_place OR s.highest = s.last_place THEN CAST(e.bound AS DECIMAL(18, 2)) END  AS price_below,
    coalesce(c.prices, 0)       AS prices
FROM spans AS s
JOIN bounds AS b ON b.place BETWEEN s.first_place AND s.last_place
JOIN bounds AS e ON e.place = b.place + 1
LEFT JOIN band_counts AS c ON c.place = b.place
    AND c.pricing_tier IS NOT DISTINCT FROM s.pricing_tier
    AND c.currency IS NOT DISTINCT FROM s.currency
ORDER BY s.prices DESC, s.pricing_tier NULLS LAST, s.currency NULLS LAST, b.place
