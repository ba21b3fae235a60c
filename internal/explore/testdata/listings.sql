-- Eight listings. Some have HTML, quotes, formulas, wildcards or control characters in their texts,
-- or no values. Orders were not read.
INSERT INTO meta.streams (run_id, stream, grade, reason, rows) VALUES
	('20261101T020000Z', 'product_listings', 'exact', 'the total did not change', 8), ('20261101T020000Z', 'orders', 'skipped', 'missing scope orders.read', 0),
	('20261101T020000Z', 'article_status_events', 'skipped', 'no webhook delivery was received yet', 0);
INSERT INTO main.product_listings (id, name, outlet_id, outlet_name, website_url, country, state, channel_type, placement_type, domain_authority, domain_ranking, is_do_follow, disclaimer, min_delivery_days, max_delivery_days) VALUES
	('a', 'Guest post', 'o1', 'Morning News', 'https://www.morning.example/', 'United States', 'Texas', 'website', 'article', 70, 900, true, NULL, 2, 5),
	('b', 'Newsletter slot', 'o1', 'Morning News', 'https://www.morning.example/', 'United States', 'Ohio', 'newsletter', 'mention', 70, 900, false, 'Sponsored', 1, 3),
	('c', 'Press release', 'o2', 'Zürich Heute', 'http://zuerich.example', 'Switzerland', NULL, 'website', 'press_release', 40, NULL, NULL, 'Sponsored', 7, 14),
	('d', '<script>alert(1)</script>', 'o3', '"><img src=x onerror=alert(1)>', 'javascript:alert(1)', '<b>Land</b>', '(none)', 'website', 'article', 10, 1, true, NULL, NULL, NULL),
	('e', chr(8238) || 'evil' || chr(8236) || ' abc', 'o4', 'שלום עולם', 'https://user:pass@evil.example/', 'Israel', 'it''s "quoted"', 'website', 'article', NULL, NULL, false, NULL, 3, 3),
	('f', '=HYPERLINK("http://evil")', 'o5', '100% _wild_', 'https://wild.example/%_', NULL, NULL, NULL, NULL, 55, 10, NULL, NULL, 4, 4),
	('g', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	('x/../y?#%', 'Odd id', 'o1', 'Morning News', 'https://www.morning.example/', 'United States', 'Texas', 'website', 'article', 70, 900, true, NULL, 2, 5);
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier) VALUES
	('a', 1, 100, 'USD', 'standard'), ('a', 2, 80.5, 'USD', 'pro'), ('a', 3, 90, 'EUR', 'standard'),
	('b', 1, 200, 'USD', 'standard'), ('b', 2, NULL, 'USD', 'pro'),
	('c', 1, 50, 'EUR', 'standard'), ('c', 2, 60, NULL, NULL), ('c', 3, 40, 'EUR', NULL),
	('d', 1, 1, '"><script>', '<i>tier</i>'), ('e', 1, 300.25, 'USD', 'pro'),
	('x/../y?#%', 1, 99.999999, 'USD', 'standard');
INSERT INTO main.product_listing_tags (product_listing_id, position, name) VALUES
	('a', 1, 'news'), ('a', 2, 'politics'), ('b', 1, 'news'), ('c', 1, '<u>tag</u>'), ('c', 2, 'it''s'), ('d', 1, 'news'), ('d', 2, 'news');
INSERT INTO main.outlets (id, name, website_url) VALUES ('o1', 'Morning News', 'https://www.morning.example/'), ('o9', 'Morning <i>Star</i>', NULL);
UPDATE main.product_listings SET created_at = CASE id WHEN 'b' THEN TIMESTAMPTZ '2026-09-02 00:00:00+00' ELSE '2026-09-01 00:00:00+00' END WHERE id IN ('b', 'd');
