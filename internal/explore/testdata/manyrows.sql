-- 100,000 orders with two items each.
INSERT INTO main.profiles (id, name) SELECT 'P' || i, 'Client ' || i FROM range(500) AS t(i);
INSERT INTO main.orders (id, profile_id, reference_number, status, total, date_paid, created_at, email)
SELECT md5(CAST(i AS VARCHAR)), 'P' || i % 500, 'PO-' || i, CASE i % 5 WHEN 1 THEN 'pending_payment' ELSE 'paid' END, (i % 4000) * 1.25, CASE WHEN i % 4 > 0 THEN TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (i * 4) MINUTE END,
	TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (i * 4) MINUTE, 'someone' || i || '@example.com'
FROM range(100000) AS t(i);
INSERT INTO main.order_line_items (order_id, position, id, name, quantity, price)
SELECT md5(CAST(i AS VARCHAR)), p, 'I' || i || '-' || p, 'Guest post', 1, 10 FROM range(100000) AS t(i), range(2) AS u(p);
