-- 250 orders of three profiles with equal and missing values, and texts with quotes. Half of the
-- outlets have no name in their listings.
INSERT INTO meta.streams (run_id, stream, grade, reason)
SELECT '20261101T020000Z', unnest(['product_listings', 'outlets', 'orders', 'order_details', 'order_items', 'profiles', 'profile_orders']), 'exact', 'the total did not change';
INSERT INTO main.profiles (id, name) VALUES ('P0', 'Acme'), ('P1', 'it''s "quoted" %'), ('P2', NULL);
INSERT INTO main.orders (id, profile_id, reference_number, status, total, date_paid, created_at, email)
SELECT 'R' || i, 'P' || i % 3, CASE WHEN i % 7 > 0 THEN 'PO-' || i END, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'pending_payment' ELSE 'paid' END,
	CASE WHEN i % 11 > 0 THEN (i % 40) * 10.005 END, CASE WHEN i % 4 > 0 THEN TIMESTAMPTZ '2026-08-30 00:00:00+00' + INTERVAL (i * 7) HOUR END,
	TIMESTAMPTZ '2026-08-01 00:00:00+00' + INTERVAL (i % 50) DAY, 'someone' || i || '@example.com'
FROM range(250) AS t(i);
INSERT INTO main.outlets (id, name) SELECT 'O' || i, 'Outlet ' || i FROM range(10) AS t(i);
INSERT INTO main.product_listings (id, name, outlet_id, outlet_name, domain_authority, channel_type)
SELECT 'L' || i, 'Listing ' || i, 'O' || i % 10, CASE WHEN i % 10 < 5 THEN 'Outlet ' || i % 10 END, i % 90, 'FULL_FEATURE' FROM range(120) AS t(i);
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier)
SELECT 'L' || i, p, 10 + i % 13 + p * 0.125, CASE p WHEN 1 THEN 'USD' WHEN 2 THEN 'EUR' END, CASE p WHEN 1 THEN 'black_friday' ELSE 'pro' END
FROM range(120) AS t(i), range(1, 4) AS u(p) WHERE i % 4 >= p - 1;
-- A listing whose outlet has a name only in a line item, and an item without the name of its outlet.
INSERT INTO main.product_listings (id, name, outlet_id) VALUES ('LX', 'Unnamed', 'OX');
INSERT INTO main.order_line_items (order_id, position, product_id, outlet_id, outlet_name) VALUES ('R0', 1, 'LX', 'OX', 'Only in orders');
INSERT INTO main.order_items (id, order_id, product_id, outlet_id) VALUES ('I0', 'R0', 'L35', 'O5');
