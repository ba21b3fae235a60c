-- Three nights. The listing L1 changed its price and its authority, and L2 was deleted. An order has
-- a sold item whose article is in its second status.
INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES ('20261102T020000Z', TIMESTAMPTZ '2026-11-02 02:00:00+00', 'complete'), ('20261103T020000Z', TIMESTAMPTZ '2026-11-03 02:00:00+00', 'complete');
INSERT INTO meta.streams (run_id, stream, grade, reason)
SELECT '20261103T020000Z', unnest(['product_listings', 'outlet_listings', 'products', 'outlets', 'outlet_products', 'orders', 'order_details', 'order_items', 'profiles', 'profile_orders',
	'profile_order_items', 'profile_campaigns', 'campaigns', 'campaign_details', 'campaign_articles', 'campaign_status_counts', 'articles']), 'exact', 'the total did not change';
INSERT INTO meta.streams (run_id, stream, grade, reason) VALUES ('20261103T020000Z', 'article_comments', 'skipped', 'missing scope comments.read');
INSERT INTO meta.deletions (run_id, table_name, key, evidence) VALUES ('20261103T020000Z', 'product_listings', 'L2', 'absent from a proven walk');
INSERT INTO meta.rejects (run_id, seq, table_name, key, column_name, raw, reason) VALUES ('20261102T020000Z', 1, 'product_listings', 'L1', 'domain_ranking', '"<b>many</b>"', 'not a whole number');

INSERT INTO past.product_listings (id, name, outlet_id, outlet_name, website_url, channel_type, domain_authority, max_delivery_days, valid_from, valid_to, run_id) VALUES
	('L1', 'Guest post', 'O1', 'Morning News', 'https://www.morning.example/', 'website', 40, 9, '2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00', '20261102T020000Z'),
	('L1', 'Guest post', 'O1', 'Morning News', 'https://www.morning.example/', 'website', 55, 9, '2026-11-02 02:00:00+00', '2026-11-03 02:00:00+00', '20261103T020000Z'),
	('L2', 'Gone slot', 'O1', 'Morning News', 'https://www.morning.example/', 'newsletter', 55, 3, '2026-11-01 02:00:00+00', '2026-11-03 02:00:00+00', '20261103T020000Z');
INSERT INTO main.product_listings (id, name, outlet_id, outlet_name, website_url, country, channel_type, placement_type, domain_authority, is_do_follow, disclaimer, min_delivery_days, max_delivery_days, valid_from) VALUES
	('L1', 'Guest post', 'O1', 'Morning News', 'https://www.morning.example/', 'Spain', 'website', 'article', 55, true, 'Sponsored', 2, 7, '2026-11-03 02:00:00+00'),
	('x/../y?#%', '<script>alert(1)</script>', 'O1', '"><img src=x onerror=alert(1)>', 'javascript:alert(1)', NULL, 'website', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-01 02:00:00+00');
INSERT INTO past.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from, valid_to, run_id) VALUES
	('L1', 1, 1100, 'USD', 'standard', '2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00', '20261102T020000Z'),
	('L1', 2, 80.5, 'USD', 'pro', '2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00', '20261102T020000Z'),
	('L2', 1, 70, 'USD', 'standard', '2026-11-01 02:00:00+00', '2026-11-03 02:00:00+00', '20261103T020000Z');
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from) VALUES
	('L1', 1, 80.5, 'USD', 'pro', '2026-11-02 02:00:00+00'),
	('L1', 2, 1234.567, 'USD', 'standard', '2026-11-02 02:00:00+00'),
	('L1', 3, 90, 'EUR', 'standard', '2026-11-01 02:00:00+00');
INSERT INTO past.product_listing_tags (product_listing_id, position, name, valid_from, valid_to, run_id) VALUES ('L1', 2, 'politics', '2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00', '20261102T020000Z');
INSERT INTO main.product_listing_tags (product_listing_id, position, name) VALUES ('L1', 1, 'news'), ('x/../y?#%', 1, '<u>tag</u>');
INSERT INTO main.product_listing_includes (product_listing_id, position, channel_type, placement_type) VALUES ('L1', 1, 'newsletter', 'mention');
INSERT INTO main.product_listing_example_links (product_listing_id, position, url) VALUES ('L1', 1, 'https://www.morning.example/sample'), ('L1', 2, 'javascript:alert(2)');
INSERT INTO main.products (id, name, active, min_delivery_days, max_delivery_days, valid_from) VALUES ('L1', 'Guest post', true, 2, 7, '2026-11-02 02:00:00+00');

INSERT INTO main.outlets (id, name, website_url, country) VALUES ('O1', 'Morning News', 'https://www.morning.example/', 'Spain');
INSERT INTO main.outlet_channels (id, outlet_id, channel_type, placement_type, is_do_follow, do_follow_links_allowed, do_follow_links_limit, domain_authority, disclaimer_name) VALUES ('K1', 'O1', 'website', 'article', true, true, 2, 55, 'Sponsored');
INSERT INTO main.outlet_products (outlet_id, product_id, name, active) VALUES ('O1', 'L1', 'Guest post', true);
INSERT INTO main.outlet_tags (outlet_id, position, name) VALUES ('O1', 1, 'news');

INSERT INTO main.profiles (id, name, website_url) VALUES ('P1', 'Acme', 'https://acme.example');
INSERT INTO main.profile_primary_goals (profile_id, position, name) VALUES ('P1', 1, 'Be known');
INSERT INTO main.profile_orders (profile_id, order_id) VALUES ('P1', 'R1');
INSERT INTO main.profile_campaigns (profile_id, campaign_id) VALUES ('P1', 'C1');
INSERT INTO main.orders (id, profile_id, reference_number, status, total, date_paid, created_at) VALUES ('R1', 'P1', 'PO-17', 'paid', 1300.25, '2026-10-01 10:00:00+00', '2026-09-30 09:00:00+00');
INSERT INTO main.order_line_items (order_id, position, id, product_id, name, quantity, price, outlet_id, outlet_name) VALUES ('R1', 1, 'I1', 'L1', 'Guest post', 1, 1200.25, 'O1', 'Morning News'), ('R1', 2, NULL, 'L2', 'Gone slot', 2, 50, 'O1', 'Morning News');
INSERT INTO past.order_items (id, order_id, product_id, product_name, outlet_id, outlet_name, sale_price, commission_amount, commission_status, article_id, valid_from, valid_to, run_id) VALUES
	('I1', 'R1', 'L1', 'Guest slot', 'O1', 'Morning News', 1200.25, 99.5, 'pending', NULL,
	'2026-11-01 02:00:00+00', '2026-11-02 02:00:00+00', '20261102T020000Z');
INSERT INTO main.order_items (id, order_id, product_id, product_name, product_price, outlet_id, outlet_name, sale_price, vendor_cost, commission_amount, commission_status, date_paid, article_id, article_name, article_campaign_id, valid_from) VALUES
	('I1', 'R1', 'L1', 'Guest post', 1100, 'O1', 'Morning News', 1200.25, 700, 99.5, 'approved', '2026-10-01 10:00:00+00', 'A1', 'Ten facts', 'C1', '2026-11-02 02:00:00+00');
INSERT INTO main.campaigns (id, name, profile_id, profile_name, status, budget, total_articles) VALUES ('C1', 'Autumn', 'P1', 'Acme', 'active', 5000, 1);
INSERT INTO main.questionnaires (id, campaign_id, objectives, tone) VALUES ('Q1', 'C1', 'Be read', repeat('dry ', 100) || 'end');
INSERT INTO main.campaign_status_counts (campaign_id, id, name, prefix, count) VALUES ('C1', 's1', 'Published', 'published', 1);
INSERT INTO main.campaign_articles (id, name, campaign_id, order_item_id, created_at) VALUES ('A1', 'Ten facts', 'C1', 'I1', '2026-10-02 10:00:00+00');
INSERT INTO main.articles (id, name, campaign_id, product_id, profile_id, live_url, draft_doc_url, writer_id, writer_first_name, writer_last_name, status_name, status_prefix, expected_completion_date) VALUES
	('A1', 'Ten facts', 'C1', 'L1', 'P1', 'https://www.morning.example/ten-facts', 'data:text/html,x', 'W1', 'Ann', 'Author', 'Published', 'published', '2026-10-20 00:00:00+00');
INSERT INTO main.article_statuses (article_id, position, effective_at, name, prefix, notes) VALUES
	('A1', 1, '2026-10-02 10:00:00+00', 'Writing', 'writing', NULL), ('A1', 2, '2026-10-12 10:00:00+00', 'Published', 'published', '<b>at last</b>');
INSERT INTO main.article_comments (article_id, id, content, author_name, created_at, parent_comment_id) VALUES
	('A1', 'k1', 'First <i>draft</i>', 'Ann', '2026-10-03 10:00:00+00', NULL), ('A1', 'k2', 'Another', 'Bob', '2026-10-04 10:00:00+00', NULL), ('A1', 'k3', 'A reply to the first', 'Bob', '2026-10-05 10:00:00+00', 'k1');
INSERT INTO main.article_files (article_id, position, id, name, file_url, size) VALUES ('A1', 1, 'F1', 'facts.docx', 'https://files.example/facts.docx', 12345), ('A1', 2, 'F2', 'evil', 'javascript:alert(3)', 1);
-- A profile whose order R2 is only in profile_orders. Its order R3 and its campaign C2 have
-- deleted_at.
INSERT INTO main.profiles (id, name) VALUES ('P2', 'Binder');
INSERT INTO main.profile_orders (profile_id, order_id) VALUES ('P2', 'R2'), ('P2', 'R3');
INSERT INTO main.orders (id, profile_id, reference_number, deleted_at) VALUES ('R3', 'P2', 'PO-DELETED', '2026-10-02 10:00:00+00');
INSERT INTO main.order_line_items (order_id, position, product_id, name) VALUES ('R3', 1, 'L1', 'Guest post');
INSERT INTO main.campaigns (id, name, profile_id, deleted_at) VALUES ('C2', 'Winter', 'P2', '2026-10-02 10:00:00+00');
-- A listing with more row versions than its browser page reads, and a deleted questionnaire of a
-- campaign that is in no list.
INSERT INTO past.product_listings (id, name, domain_ranking, valid_from, valid_to, run_id)
SELECT 'L3', 'Restless', i, TIMESTAMPTZ '2020-01-01 02:00:00+00' + to_hours(24 * i), TIMESTAMPTZ '2020-01-01 02:00:00+00' + to_hours(24 * (i + 1)), '20261101T020000Z' FROM range(1200) AS t(i);
INSERT INTO past.questionnaires (id, campaign_id, objectives, valid_from, valid_to, run_id) VALUES ('Q9', 'C9', 'Be gone', '2026-11-01 02:00:00+00', '2026-11-03 02:00:00+00', '20261103T020000Z');
-- An article that was live before its order was paid.
INSERT INTO main.order_items (id, order_id, product_id, date_paid) VALUES ('I4', 'R4', 'L4', '2026-10-10 10:00:00+00');
INSERT INTO main.campaign_articles (id, name, order_item_id) VALUES ('A4', 'Early bird', 'I4');
INSERT INTO main.article_statuses (article_id, position, effective_at, name, prefix) VALUES ('A4', 1, '2026-10-02 10:00:00+00', 'Published', 'published');
-- An item whose order, campaign and profile are in no list.
INSERT INTO main.order_items (id, order_id, product_name, sale_price, article_campaign_id, article_campaign_name, article_campaign_profile_id) VALUES ('I9', 'R9', 'Unlisted', 5, 'C9', 'Unseen', 'P9');
INSERT INTO main.order_line_items (order_id, position, id, name, quantity) VALUES ('R9', 1, 'I9', 'Unlisted', 4);
-- An open article whose promise was October 17, and which the service expected on October 30.
INSERT INTO main.order_items (id, order_id, date_paid) VALUES ('I5', 'R4', '2026-10-10 10:00:00+00');
INSERT INTO main.profile_order_items (id, profile_id, max_delivery_days) VALUES ('I5', 'P9', 7);
INSERT INTO main.campaign_articles (id, name, order_item_id, expected_completion_date) VALUES ('A5', 'Slow piece', 'I5', '2026-10-30 10:00:00+00');
INSERT INTO main.articles (id, campaign_id, profile_id) VALUES ('A9', 'C9', 'P9');
INSERT INTO meta.tables (run_id, table_name, rows) VALUES ('20261103T020000Z', 'orders', 4711), ('20261102T020000Z',
	'orders', 12);
UPDATE main.article_comments SET updated_at = '2026-10-06 10:00:00+00' WHERE id = 'k2';
-- A file that is only an id, a field with JSON, and a failed check.
INSERT INTO main.files (id, name) VALUES ('F9', 'brief.pdf');
INSERT INTO main.article_files (article_id, position, value) VALUES ('A1', 3, 'F9');
UPDATE main.campaigns SET extra = '{"legacy": [1, "<b>x</b>"]}' WHERE id = 'C1';
INSERT INTO meta.checks (run_id, check_name, severity, outcome, rows, sample) VALUES
	('20261103T020000Z', 'prices_scaled', 'hold', 'passed', 0, NULL),
	('20261103T020000Z', 'prices_not_positive', 'warn', 'failed', 2, '[{"listing_id": "L1", "amount": -1.50}, {"listing_id": "<i>L2</i>", "amount": null}]');
-- A member of an object changes, and another comes in another order.
UPDATE past.product_listings SET extra = '{"in": {"y": 1}, "rating": 4.50, "list": [{"a": 1}, 2]}' WHERE id = 'L1';
UPDATE main.product_listings SET extra = '{"rating": true, "list": [{"a": 1}, 2], "in": {"y": 1}}' WHERE id = 'L1';
