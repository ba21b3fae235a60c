-- Over- and underpriced listings
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS side,
        CAST(25 AS DECIMAL(18, 6)) AS min_percent,
        CAST(5 AS BIGINT) AS min_peers,
        CAST(NULL AS {{text}}) AS currency,
        CAST(NULL AS {{text}}) AS tier,
        CAST(NULL AS {{text}}) AS country,
        CAST(100 AS BIGINT) AS top
),
prices AS (
    SELECT p.listing_id, p.country, p.channel_type, p.authority_band, p.pricing_tier, p.currency, min(p.unit_amount) AS amount
    FROM ${mart}.listing_prices AS p
    CROSS JOIN params
    WHERE p.unit_amount > 0 AND p.country IS NOT NULL AND p.channel_type IS NOT NULL AND p.authority_band IS NOT NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
      AND (params.tier IS NULL OR p.pricing_tier = params.tier)
      AND (params.country IS NULL OR p.country = params.country)
    GROUP BY p.listing_id, p.country, p.channel_type, p.authority_band, p.pricing_tier, p.currency
),
ranked_prices AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY country, channel_type, authority_band, pricing_tier, currency ORDER BY amount, listing_id) AS rank,
        count(*) OVER (PARTITION BY country, channel_type, authority_band, pricing_tier, currency) AS listing_count
    FROM prices
),
-- The sorted prices contain the listing itself. The median of the others is at the rank
-- listing_count / 2, rounded down, or at the next rank if the listing is at or before that rank. Of
-- two middle prices, the median is the lower.
comparisons AS (
    SELECT
        p.*,
        m.amount AS median,
        CAST(100 * (p.amount - m.amount) AS DOUBLE) / CAST(m.amount AS DOUBLE) AS percent,
        params.side,
        params.min_percent,
        params.top
    FROM ranked_prices AS p
    CROSS JOIN params
    JOIN ranked_prices AS m ON m.country = p.country AND m.channel_type = p.channel_type AND m.authority_band = p.authority_band
        AND m.pricing_tier IS NOT DISTINCT FROM p.pricing_tier AND m.currency IS NOT DISTINCT FROM p.currency
        AND m.rank = p.listing_count {{div}} 2 + CASE WHEN p.rank <= p.listing_count {{div}} 2 THEN 1 ELSE 0 END
    WHERE p.listing_count > greatest(1, params.min_peers)
),
outliers AS (
    SELECT
        *,
        greatest(CAST(amount AS DOUBLE) / CAST(median AS DOUBLE), CAST(median AS DOUBLE) / CAST(amount AS DOUBLE)) AS distance
    FROM comparisons
    WHERE abs(percent) >= min_percent AND percent <> 0
      AND (side IS NULL OR (percent > 0) = (side = 'over'))
),
ranked_outliers AS (
    SELECT *, row_number() OVER (ORDER BY distance DESC, listing_id, pricing_tier NULLS LAST, currency NULLS LAST) AS outlier_rank
    FROM outliers
)
SELECT
    r.listing_id,
    l.name AS listing_name,
    l.outlet_name,
    r.country,
    r.channel_type,
    r.authority_band,
    r.pricing_tier,
    r.currency,
    CASE WHEN r.percent > 0 THEN 'over' ELSE 'under' END AS side,
    CAST(r.amount AS DECIMAL(18, 2))                     AS price,
    CAST(r.median AS DECIMAL(18, 2))                     AS median_price,
    CAST(round(r.percent * 10) / 10 AS DECIMAL(38, 1))   AS difference_percent,
    r.listing_count - 1                                  AS peers
FROM ranked_outliers AS r
JOIN ${current}.product_listings AS l ON l.id = r.listing_id
WHERE r.top IS NULL OR r.outlier_rank <= r.top
ORDER BY r.outlier_rank
