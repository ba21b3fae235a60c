-- subject: prices
-- title: Price distribution
-- grain: one row per tier, currency and price band, empty bands too
-- about: How many prices lie in each band. Bands of one tier and currency are equally wide, in whole units of the currency, and together reach the 99th percentile; the last is open above and has no price_below. Prices below zero count in the first.
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: bands COUNT 20 -- number of bands
WITH prices AS (
    SELECT pricing_tier, currency, unit_amount
    FROM product_listing_prices
    WHERE unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
widths AS (
    SELECT pricing_tier, currency, greatest(1, CAST(ceil(quantile_disc(unit_amount, 0.99) / nullif($bands, 0)) AS BIGINT)) AS width
    FROM prices
    GROUP BY ALL
),
counted AS (
    SELECT
        p.pricing_tier,
        p.currency,
        greatest(0, least($bands - 1, CAST(floor(p.unit_amount) AS BIGINT) // w.width)) AS band,
        count(*) AS prices
    FROM prices AS p
    JOIN widths AS w ON w.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND w.currency IS NOT DISTINCT FROM p.currency
    GROUP BY ALL
),
bands AS (
    SELECT w.pricing_tier, w.currency, w.width, b.band
    FROM widths AS w
    CROSS JOIN range($bands) AS b(band)
)
SELECT
    b.pricing_tier,
    b.currency,
    b.band + 1                                    AS band,
    CAST(b.band * b.width AS DECIMAL(18, 2))      AS price_from,
    CASE WHEN b.band < $bands - 1 THEN CAST((b.band + 1) * b.width AS DECIMAL(18, 2)) END AS price_below,
    coalesce(c.prices, 0)                         AS prices
FROM bands AS b
LEFT JOIN counted AS c ON c.band = b.band
    AND c.pricing_tier IS NOT DISTINCT FROM b.pricing_tier
    AND c.currency IS NOT DISTINCT FROM b.currency
ORDER BY b.pricing_tier, b.currency, b.band
