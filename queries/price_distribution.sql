-- subject: prices
-- title: Price distribution
-- grain: one row per tier, currency and price band, including empty bands
-- about: Number of prices in each band. Each power of ten has six bands. They begin at 1, 1.5, 2, 3, 5 and 7, then at 10, 15 and so on; prices below 1 share one band. The bands of a tier and currency reach from the 1st to the 99th percentile. The first and the last band also count the prices beyond them; they are open and have no price_from or no price_below. The tier and currency with most prices come first.
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
WITH price_powers AS (
    SELECT pricing_tier, currency, unit_amount, length(CAST(CAST(floor(unit_amount) AS BIGINT) AS VARCHAR)) - 1 AS power
    FROM product_listing_prices
    WHERE unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
price_bands AS (
    SELECT
        pricing_tier,
        currency,
        CASE WHEN unit_amount < 1 THEN 0 ELSE 6 * power + CASE
            WHEN unit_amount - unit < 2 * unit - unit_amount THEN 1
            WHEN unit_amount < 2 * unit THEN 2
            WHEN unit_amount < 3 * unit THEN 3
            WHEN unit_amount < 5 * unit THEN 4
            WHEN unit_amount < 7 * unit THEN 5
            ELSE 6
        END END AS place
    FROM (SELECT *, CAST(pow(10, power) AS BIGINT) AS unit FROM price_powers)
),
bounds AS (
    SELECT place, CASE WHEN place = 0 THEN 0 ELSE [10, 15, 20, 30, 50, 70][1 + (place + 5) % 6] * pow(10, (place - 1) // 6) / 10 END AS bound
    FROM range(74) AS t(place)
),
spans AS (
    SELECT
        pricing_tier,
        currency,
        count(*)                     AS prices,
        min(place)                   AS lowest,
        max(place)                   AS highest,
        quantile_disc(place, 0.01)   AS first_place,
        quantile_disc(place, 0.99)   AS last_place
    FROM price_bands
    GROUP BY ALL
),
band_counts AS (
    SELECT p.pricing_tier, p.currency, least(greatest(p.place, s.first_place), s.last_place) AS place, count(*) AS prices
    FROM price_bands AS p
    JOIN spans AS s ON s.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND s.currency IS NOT DISTINCT FROM p.currency
    GROUP BY ALL
)
SELECT
    s.pricing_tier,
    s.currency,
    b.place - s.first_place + 1 AS band,
    CASE WHEN b.place > s.first_place OR s.lowest = s.first_place THEN CAST(b.bound AS DECIMAL(18, 2)) END AS price_from,
    CASE WHEN b.place < s.last_place OR s.highest = s.last_place THEN CAST(e.bound AS DECIMAL(18, 2)) END  AS price_below,
    coalesce(c.prices, 0)       AS prices
FROM spans AS s
JOIN bounds AS b ON b.place BETWEEN s.first_place AND s.last_place
JOIN bounds AS e ON e.place = b.place + 1
LEFT JOIN band_counts AS c ON c.place = b.place
    AND c.pricing_tier IS NOT DISTINCT FROM s.pricing_tier
    AND c.currency IS NOT DISTINCT FROM s.currency
ORDER BY s.prices DESC, s.pricing_tier, s.currency, b.place
