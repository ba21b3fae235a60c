-- Current prices with country, channel and authority.
SELECT
    l.id   AS listing_id,
    p.position,
    l.name AS listing_name,
    l.outlet_id,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    l.country,
    l.channel_type,
    l.placement_type,
    l.is_do_follow,
    l.domain_authority,
    CASE WHEN l.domain_authority BETWEEN 0 AND 100 THEN
        element_at({{list `'00-09', '10-19', '20-29', '30-39', '40-49', '50-59', '60-69', '70-79', '80-89', '90-100'`}},
            CAST(1 + least(l.domain_authority {{div}} 10, 9) AS {{int}}))
    END AS authority_band,
    p.pricing_tier,
    p.currency,
    p.unit_amount,
    l.min_delivery_days,
    l.max_delivery_days
FROM ${current}.product_listings AS l
JOIN ${current}.product_listing_prices AS p ON p.product_listing_id = l.id
LEFT JOIN ${mart}.outlet_names AS n ON n.outlet_id = l.outlet_id
WHERE p.unit_amount IS NOT NULL
