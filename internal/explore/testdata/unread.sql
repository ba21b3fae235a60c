-- The stream product_listings was not read.
INSERT INTO meta.streams (run_id, stream, grade, reason, rows) VALUES ('20261101T020000Z', 'product_listings', 'skipped', 'missing scope products.read', 0);
