-- Prices before and after each change.
-- grain: one row per changed price of a product listing, in a tier, currency and snapshot
CREATE VIEW mart.price_changes AS
-- nth is the rank of a price by position within its listing, tier, currency and snapshot. Old and new prices with
-- the same nth are a pair.
WITH closed_prices AS (
    SELECT
        product_listing_id, pricing_tier, currency, unit_amount, valid_to AS changed_at,
        row_number() OVER (PARTITION BY product_listing_id, pricing_tier, currency, valid_to ORDER BY position) AS nth
    FROM history.product_listing_prices
    WHERE valid_to IS NOT NULL AND unit_amount IS NOT NULL
),
opened_prices AS (
    SELECT
        product_listing_id, pricing_tier, currency, unit_amount, valid_from AS changed_at,
        row_number() OVER (PARTITION BY product_listing_id, pricing_tier, currency, valid_from ORDER BY position) AS nth
    FROM history.product_listing_prices
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
    AND c.nth = o.nth
WHERE o.unit_amount <> c.unit_amount;

COMMENT ON VIEW mart.price_changes IS 'Price changes of product listings, one row per changed price. If a listing has several prices of one tier and currency, they are compared in the order of position, and each changed one has a row. A new or removed price is not a change. Restrict changed_at: the view reads the whole history.';
COMMENT ON COLUMN mart.price_changes.changed_at IS 'Time of the snapshot that first showed the new amount, UTC.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.price_changes.listing_id IS 'Id of the listing: product_listings.id.'; -- VARCHAR
COMMENT ON COLUMN mart.price_changes.pricing_tier IS 'Pricing tier.'; -- VARCHAR
COMMENT ON COLUMN mart.price_changes.currency IS 'Currency of both amounts; NULL if the service states no currency.'; -- VARCHAR
COMMENT ON COLUMN mart.price_changes.old_amount IS 'Amount in the previous snapshot, in units of currency.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.price_changes.new_amount IS 'Amount in the snapshot of changed_at, in units of currency.'; -- DECIMAL(18,6)
