-- subject: prices
-- title: Price distribution
-- grain: one row per tier, currency and price band, including empty bands
-- about: Number of prices in each band. Each power of ten has six bands. They begin at 1, 1.5, 2, 3, 5 and 7, then at 10, 15 and so on; prices below 1 share one band. The bands of a tier and currency reach from the 1st to the 99th percentile. The first band also counts all lower prices; if there are any, its price_from is empty. The last band also counts all higher prices; if there are any, its price_below is empty. The tier and currency with the most prices come first.
-- also: histogram, spread, band, range, how many
-- chart: bar x=price_from y=prices
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- The exponent is the number of digits before the point, less 1.
WITH price_exponents AS (
    SELECT pricing_tier, currency, unit_amount, length(CAST(CAST(floor(unit_amount) AS BIGINT) AS VARCHAR)) - 1 AS exponent
    FROM product_listing_prices
    WHERE unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
price_bands AS (
    SELECT
        pricing_tier,
        currency,
        CASE WHEN unit_amount < 1 THEN 0 ELSE 6 * exponent + CASE
            -- This means unit_amount < 1.5 * power_of_ten. It is written without 2 * unit_amount, because
            -- twice the largest price does not fit into its type.
            WHEN unit_amount - power_of_ten < 2 * power_of_ten - unit_amount THEN 1
            WHEN unit_amount < 2 * power_of_ten THEN 2
            WHEN unit_amount < 3 * power_of_ten THEN 3
            WHEN unit_amount < 5 * power_of_ten THEN 4
            WHEN unit_amount < 7 * power_of_ten THEN 5
            ELSE 6
        END END AS band
    FROM (SELECT *, CAST(pow(10, exponent) AS BIGINT) AS power_of_ten FROM price_exponents)
),
-- bound is the lower bound of a band. Prices of type DECIMAL(18, 6) have 12 powers of ten. The bands of the 13th give
-- the upper bound of the last band.
bounds AS (
    SELECT 0 AS band, 0 AS bound
    UNION ALL
    SELECT 6 * exponent + number, factor * pow(10, exponent)
    FROM range(13) AS p(exponent)
    CROSS JOIN (VALUES (1, 1), (2, 1.5), (3, 2), (4, 3), (5, 5), (6, 7)) AS f(number, factor)
),
spans AS (
    SELECT
        pricing_tier,
        currency,
        count(*)                     AS prices,
        min(band)                    AS lowest_band,
        max(band)                    AS highest_band,
        quantile_disc(band, 0.01)    AS first_band,
        quantile_disc(band, 0.99)    AS last_band
    FROM price_bands
    GROUP BY ALL
),
band_counts AS (
    SELECT p.pricing_tier, p.currency, least(greatest(p.band, s.first_band), s.last_band) AS band, count(*) AS prices
    FROM price_bands AS p
    JOIN spans AS s ON s.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND s.currency IS NOT DISTINCT FROM p.currency
    GROUP BY ALL
)
SELECT
    s.pricing_tier,
    s.currency,
    b.band - s.first_band + 1 AS band,
    CASE WHEN b.band > s.first_band OR s.lowest_band = s.first_band THEN CAST(b.bound AS DECIMAL(18, 2)) END AS price_from,
    CASE WHEN b.band < s.last_band OR s.highest_band = s.last_band THEN CAST(e.bound AS DECIMAL(18, 2)) END  AS price_below,
    coalesce(c.prices, 0)       AS prices
FROM spans AS s
JOIN bounds AS b ON b.band BETWEEN s.first_band AND s.last_band
JOIN bounds AS e ON e.band = b.band + 1
LEFT JOIN band_counts AS c ON c.band = b.band
    AND c.pricing_tier IS NOT DISTINCT FROM s.pricing_tier
    AND c.currency IS NOT DISTINCT FROM s.currency
ORDER BY s.prices DESC, s.pricing_tier, s.currency, b.band
