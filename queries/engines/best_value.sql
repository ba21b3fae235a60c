-- Best value for authority
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS currency,
        CAST(NULL AS {{text}}) AS tier,
        CAST(30 AS BIGINT) AS min_authority,
        CAST(20 AS BIGINT) AS top
),
prices_per_point AS (
    SELECT p.listing_id, p.position, p.pricing_tier, p.currency, p.domain_authority, p.unit_amount, params.top,
        CAST(p.unit_amount AS DOUBLE) / p.domain_authority AS per_point
    FROM ${mart}.listing_prices AS p
    CROSS JOIN params
    WHERE p.unit_amount > 0 AND p.domain_authority >= greatest(1, params.min_authority)
      AND (params.currency IS NULL OR p.currency = params.currency)
      AND (params.tier IS NULL OR p.pricing_tier = params.tier)
),
ranked_prices AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY pricing_tier, currency ORDER BY per_point, domain_authority DESC, listing_id, position) AS rank,
        count(*) OVER (PARTITION BY pricing_tier, currency) AS price_count
    FROM prices_per_point
)
SELECT
    b.pricing_tier,
    b.currency,
    b.rank,
    b.listing_id,
    l.name AS listing_name,
    l.outlet_name,
    l.country,
    l.channel_type,
    l.placement_type,
    l.is_do_follow,
    b.domain_authority,
    CAST(b.unit_amount AS DECIMAL(18, 2))         AS price,
    CAST(round(b.per_point * 10000) / 10000 AS DECIMAL(18, 4))   AS price_per_point
FROM ranked_prices AS b
JOIN ${current}.product_listings AS l ON l.id = b.listing_id
WHERE b.rank <= b.top
ORDER BY b.price_count DESC, b.pricing_tier NULLS LAST, b.currency NULLS LAST, b.rank
