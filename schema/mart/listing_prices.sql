-- Current prices with country, channel and authority.
-- grain: one row per product listing and price
CREATE VIEW mart.listing_prices AS
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
        ['00-09', '10-19', '20-29', '30-39', '40-49', '50-59', '60-69', '70-79', '80-89', '90-100'][1 + least(l.domain_authority // 10, 9)]
    END AS authority_band,
    p.pricing_tier,
    p.currency,
    p.unit_amount,
    l.min_delivery_days,
    l.max_delivery_days
FROM main.product_listings AS l
JOIN main.product_listing_prices AS p ON p.product_listing_id = l.id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
WHERE p.unit_amount IS NOT NULL;

COMMENT ON VIEW mart.listing_prices IS 'Current prices of product listings with country, channel and authority, one row per price that has an amount. Amounts of different currencies must never be added or compared.';
COMMENT ON COLUMN mart.listing_prices.listing_id IS 'Id of the listing: product_listings.id.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.position IS 'Position in the list of prices: product_listing_prices.position.'; -- BIGINT
COMMENT ON COLUMN mart.listing_prices.listing_name IS 'Name of the placement.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.outlet_id IS 'Id of the outlet: outlets.id.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.outlet_name IS 'Name of the outlet.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.country IS 'Country of the outlet.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.channel_type IS 'Type of channel.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.placement_type IS 'Type of placement.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.is_do_follow IS 'Whether links carry search engine credit; NULL if unknown.'; -- BOOLEAN
COMMENT ON COLUMN mart.listing_prices.domain_authority IS 'Domain authority score of the channel.'; -- BIGINT
COMMENT ON COLUMN mart.listing_prices.authority_band IS 'Domain authority in bands of ten, the last from 90 to 100; NULL if the score is unknown or not between 0 and 100.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.pricing_tier IS 'Pricing tier.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.currency IS 'Currency of unit_amount, in upper case if it has three letters; NULL if the service states no currency.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_prices.unit_amount IS 'Price of one placement, in units of currency.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.listing_prices.min_delivery_days IS 'Shortest time to delivery, in days.'; -- BIGINT
COMMENT ON COLUMN mart.listing_prices.max_delivery_days IS 'Longest time to delivery, in days.'; -- BIGINT
