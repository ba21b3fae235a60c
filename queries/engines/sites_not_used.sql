-- Sites that a client has not used
WITH params AS (
    SELECT
        CAST(NULL AS {{text}}) AS profile,
        CAST(NULL AS {{text}}) AS currency,
        CAST(NULL AS {{text}}) AS tier,
        CAST(NULL AS {{text}}) AS country,
        CAST(0 AS BIGINT) AS min_authority,
        CAST(NULL AS BOOLEAN) AS do_follow,
        CAST(100 AS BIGINT) AS top
),
profile_ids AS (
    SELECT p.id FROM ${current}.profiles AS p CROSS JOIN params WHERE params.profile = p.id OR params.profile = p.name
    UNION
    SELECT s.profile_id FROM ${mart}.sold_items AS s CROSS JOIN params WHERE s.profile_id = params.profile
),
used_outlets AS (
    SELECT DISTINCT coalesce(s.outlet_id, l.outlet_id) AS outlet_id
    FROM ${mart}.sold_items AS s
    JOIN profile_ids AS i ON i.id = s.profile_id
    LEFT JOIN ${current}.product_listings AS l ON l.id = s.product_id
    WHERE NOT s.is_refunded
),
cheapest_listings AS (
    SELECT
        p.outlet_id,
        p.currency,
        count(DISTINCT p.listing_id)                                                AS listings,
        min(p.unit_amount)                                                          AS amount,
        min_by(p.listing_id, {{tuple}}(p.unit_amount, p.listing_id, p.position))    AS listing_id,
        min_by(p.pricing_tier, {{tuple}}(p.unit_amount, p.listing_id, p.position))  AS pricing_tier
    FROM ${mart}.listing_prices AS p
    CROSS JOIN params
    LEFT JOIN used_outlets AS u ON u.outlet_id = p.outlet_id
    WHERE p.unit_amount > 0 AND p.outlet_id IS NOT NULL
      AND EXISTS (SELECT id FROM profile_ids)
      AND u.outlet_id IS NULL
      AND (params.currency IS NULL OR p.currency = params.currency)
      AND (params.tier IS NULL OR p.pricing_tier = params.tier)
      AND (params.country IS NULL OR p.country = params.country)
      AND (params.min_authority = 0 OR p.domain_authority >= params.min_authority)
      AND (params.do_follow IS NULL OR p.is_do_follow = params.do_follow)
    GROUP BY p.outlet_id, p.currency
),
ranked_outlets AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY currency) AS currency_outlets,
        row_number() OVER (PARTITION BY currency ORDER BY amount, outlet_id) AS rank
    FROM cheapest_listings
)
SELECT
    r.outlet_id,
    coalesce(l.outlet_name, o.name) AS outlet_name,
    l.country,
    r.currency,
    CAST(r.amount AS DECIMAL(18, 2)) AS lowest_price,
    r.pricing_tier,
    l.name AS listing_name,
    l.channel_type,
    l.placement_type,
    l.domain_authority,
    l.is_do_follow,
    l.max_delivery_days,
    r.listings,
    r.listing_id
FROM ranked_outlets AS r
CROSS JOIN params
JOIN ${current}.product_listings AS l ON l.id = r.listing_id
LEFT JOIN ${current}.outlets AS o ON o.id = r.outlet_id
WHERE params.top IS NULL OR r.rank <= params.top
ORDER BY r.currency_outlets DESC, r.currency NULLS LAST, r.rank
