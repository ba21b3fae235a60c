-- Prices before and after each change.
-- price_number is the rank of a price by position within its listing, tier, currency and snapshot. Old and new prices
-- with the same number are a pair.
WITH closed_prices AS (
    SELECT
        product_listing_id, pricing_tier, currency, unit_amount, valid_to AS changed_at,
        row_number() OVER (PARTITION BY product_listing_id, pricing_tier, currency, valid_to ORDER BY position) AS price_number
    FROM ${past}.product_listing_prices
    WHERE unit_amount IS NOT NULL
),
versions AS (
    SELECT product_listing_id, position, pricing_tier, currency, unit_amount, valid_from FROM ${current}.product_listing_prices
    UNION ALL
    SELECT product_listing_id, position, pricing_tier, currency, unit_amount, valid_from FROM ${past}.product_listing_prices
),
opened_prices AS (
    SELECT
        product_listing_id, pricing_tier, currency, unit_amount, valid_from AS changed_at,
        row_number() OVER (PARTITION BY product_listing_id, pricing_tier, currency, valid_from ORDER BY position) AS price_number
    FROM versions
    WHERE unit_amount IS NOT NULL
)
SELECT
    o.changed_at,
    o.product_listing_id AS listing_id,
    o.pricing_tier,
    o.currency,
    c.unit_amount        AS old_amount,
    o.unit_amount        AS new_amount
FROM opened_prices AS o
JOIN closed_prices AS c ON c.product_listing_id = o.product_listing_id
    AND c.changed_at = o.changed_at
    AND c.pricing_tier IS NOT DISTINCT FROM o.pricing_tier
    AND c.currency IS NOT DISTINCT FROM o.currency
    AND c.price_number = o.price_number
WHERE o.unit_amount <> c.unit_amount
