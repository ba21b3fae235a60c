-- Prices of a product: one row per price. Key: product_id, position.
-- An item keeps its position between nights if these columns are equal: pricing_tier, currency.
CREATE TABLE product_prices (
    product_id   VARCHAR NOT NULL, -- field 1, references products.id
    position     BIGINT NOT NULL,  -- field 2
    unit_amount  DECIMAL(18,6),    -- field 3
    currency     VARCHAR,          -- field 4
    pricing_tier VARCHAR,          -- field 5
    extra        JSON              -- field 6
);

COMMENT ON TABLE product_prices IS 'Prices of a product, one row per price tier and currency. Amounts of different currencies must never be added or compared.';
COMMENT ON COLUMN product_prices.product_id IS 'Id of the product: products.id.';
COMMENT ON COLUMN product_prices.position IS 'Number of the price in the product, counted from 1. A price with the same pricing_tier and currency keeps its number when the list comes in another order.';
COMMENT ON COLUMN product_prices.unit_amount IS 'Price of one placement, in units of currency. The service sends it as a number or as a string. Spec 2.3 Price.unit_amount.';
COMMENT ON COLUMN product_prices.currency IS 'Currency of unit_amount, in upper case if it has three letters; NULL if the service states no currency. Spec 2.3 Price.currency.';
COMMENT ON COLUMN product_prices.pricing_tier IS 'Pricing tier; the specification lists no values. Spec 2.3 Price.pricing_tier.';
COMMENT ON COLUMN product_prices.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
