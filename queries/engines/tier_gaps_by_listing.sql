-- Widest gaps between tiers
-- If tiers have equal prices, the first by name is shown.
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency,
        CAST(100 AS BIGINT) AS top
),
spans AS (
    SELECT
        p.product_listing_id,
        p.currency,
        min_by(p.pricing_tier, {{tuple}}(p.unit_amount, p.pricing_tier))  AS low_tier,
        min(p.unit_amount)                                             AS low,
        min_by(p.pricing_tier, {{tuple}}(-p.unit_amount, p.pricing_tier)) AS high_tier,
        max(p.unit_amount)                                             AS high,
        params.top
    FROM ${current}.product_listing_prices AS p
    CROSS JOIN params
    WHERE p.unit_amount IS NOT NULL AND p.pricing_tier IS NOT NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
    GROUP BY p.product_listing_id, p.currency, params.top
),
gaps AS (
    SELECT *, CAST(100 * (high - low) AS DOUBLE) / CAST(low AS DOUBLE) AS percent
    FROM spans
    WHERE low > 0 AND low_tier <> high_tier
),
widest_gaps AS (
    SELECT *, row_number() OVER (ORDER BY percent DESC, product_listing_id, currency NULLS LAST) AS rank
    FROM gaps
)
SELECT
    w.product_listing_id AS listing_id,
    l.name               AS listing_name,
    l.outlet_name,
    w.currency,
    w.low_tier           AS lowest_tier,
    CAST(w.low AS DECIMAL(18, 2))                 AS lowest_price,
    w.high_tier          AS highest_tier,
    CAST(w.high AS DECIMAL(18, 2))                AS highest_price,
    CAST(w.high - w.low AS DECIMAL(18, 2))        AS gap,
    CAST(round(w.percent * 10) / 10 AS DECIMAL(38, 1))     AS gap_percent
FROM widest_gaps AS w
LEFT JOIN ${current}.product_listings AS l ON l.id = w.product_listing_id
WHERE w.top IS NULL OR w.rank <= w.top
ORDER BY w.rank
