-- Price distribution
WITH params AS (
    SELECT
        CAST(NULL AS VARCHAR) AS currency,
        CAST(NULL AS VARCHAR) AS tier,
        CAST(20 AS BIGINT) AS bands
),
prices AS (
    SELECT p.pricing_tier, p.currency, p.unit_amount, params.bands
    FROM ${current}.product_listing_prices AS p
    CROSS JOIN params
    WHERE p.unit_amount IS NOT NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
      AND (params.tier IS NULL OR p.pricing_tier = params.tier)
),
tops AS (
    SELECT pricing_tier, currency, bands, array_sort(array_agg(unit_amount) FILTER (WHERE unit_amount IS NOT NULL)) AS sorted
    FROM prices
    GROUP BY pricing_tier, currency, bands
),
widths AS (
    SELECT
        pricing_tier,
        currency,
        bands,
        greatest(1, CAST(ceil(CAST(element_at(sorted, CAST(ceil(0.99 * cardinality(sorted)) AS INTEGER)) AS DOUBLE) / nullif(bands, 0)) AS BIGINT)) AS width
    FROM tops
),
placed AS (
    SELECT
        p.pricing_tier,
        p.currency,
        greatest(0, least(p.bands - 1, CAST(floor(p.unit_amount) AS BIGINT) / w.width)) AS band
    FROM prices AS p
    JOIN widths AS w ON w.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND w.currency IS NOT DISTINCT FROM p.currency
),
counted AS (
    SELECT pricing_tier, currency, band, count(*) AS prices
    FROM placed
    GROUP BY pricing_tier, currency, band
),
bands AS (
    SELECT w.pricing_tier, w.currency, w.width, w.bands, n.band
    FROM widths AS w
    CROSS JOIN params
    CROSS JOIN UNNEST(sequence(0, greatest(params.bands, 1) - 1)) AS n (band)
    WHERE n.band < w.bands
)
SELECT
    b.pricing_tier,
    b.currency,
    b.band + 1                                    AS band,
    CAST(b.band * b.width AS DECIMAL(18, 2))      AS price_from,
    CASE WHEN b.band < b.bands - 1 THEN CAST((b.band + 1) * b.width AS DECIMAL(18, 2)) END AS price_below,
    coalesce(c.prices, 0)                         AS prices
FROM bands AS b
LEFT JOIN counted AS c ON c.band = b.band
    AND c.pricing_tier IS NOT DISTINCT FROM b.pricing_tier
    AND c.currency IS NOT DISTINCT FROM b.currency
ORDER BY b.pricing_tier NULLS LAST, b.currency NULLS LAST, b.band
