-- More tiers than the index of the catalog can hold.
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier) SELECT 's' || i, 1, i, 'USD', 'T' || i FROM range(1, 64) AS t(i);
