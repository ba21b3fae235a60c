-- Records for the statements of the record pages. Each row is for one rule of a statement. Row versions begin on
-- 1 November unless they state another day.
INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES ('r1', '2026-11-01 02:00:00+00', 'complete'), ('r2', '2026-11-02 02:00:00+00', 'complete'),
	('r3', '2026-11-03 02:00:00+00', 'partial'), ('r3', NULL, 'killed');
-- The listing L had another name and another outlet. Its other tables contain newer or other values.
INSERT INTO past.product_listings (id, name, outlet_id, valid_from, valid_to, run_id) VALUES
	('L', 'Oldest', 'O2', '2026-10-30', '2026-11-01', 'r1'), ('L', 'Old', 'O2', '2026-11-01', '2026-11-02', 'r2'), ('M', 'Beside once', 'O1', '2026-11-01', '2026-11-02', 'r2');
INSERT INTO main.product_listings (id, name, outlet_id, valid_from) VALUES ('L', 'New', 'O1', '2026-11-02'), ('M', 'Beside', 'O1', '2026-11-02'), ('N', 'Elsewhere', 'O2', '2026-11-01');
INSERT INTO main.outlet_listings (id, name, outlet_id, valid_from) VALUES ('L', 'Other', 'O1', '2026-11-03'), ('K', 'Only there', 'O1', '2026-11-01');
INSERT INTO past.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from, valid_to, run_id) VALUES
	('L', 1, 4, 'USD', 'std', '2026-11-01', '2026-11-02', 'r2'), ('L', 3, 70, 'USD', 'pro', '2026-11-01', '2026-11-03', 'r3');
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from) VALUES
	('L', 1, 5, 'USD', 'std', '2026-11-02'), ('L', 2, 8, 'USD', 'std', '2026-11-01'), ('M', 1, 9, 'USD', 'std', '2026-11-01'), ('M', 2, 7, 'USD', 'std', '2026-11-01');
-- Most prices of this listing lack an amount or a currency, so USD is still the most frequent currency.
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency) SELECT 'none', i, CASE WHEN i > 6 THEN 1 END, CASE WHEN i <= 7 THEN 'EUR' END FROM range(1, 14) AS t(i);
INSERT INTO main.outlet_listing_prices (outlet_listing_id, position, unit_amount, currency) VALUES ('L', 1, 99, 'EUR'), ('K', 1, 3, 'EUR');
INSERT INTO main.product_prices (product_id, position, unit_amount, currency) VALUES ('L', 1, 98, 'EUR');
INSERT INTO main.product_listing_tags (product_listing_id, position, name) VALUES ('L', 1, 'news');
INSERT INTO main.outlet_listing_tags (outlet_listing_id, position, name) VALUES ('L', 1, 'other'), ('K', 1, 'kept');
INSERT INTO main.product_listing_example_links (product_listing_id, position, url) VALUES ('L', 1, 'https://a.example');
INSERT INTO main.product_example_links (product_id, position, url) VALUES ('L', 1, 'https://b.example'), ('K', 1, 'https://c.example');
INSERT INTO main.outlet_listing_channels (outlet_listing_id, position, channel_type) VALUES ('L', 2, 'newsletter'), ('L', 1, 'website');
-- The outlet OX has a name only in its listings. The last name counts.
INSERT INTO main.outlets (id, name) VALUES ('O1', 'One'), ('OX', NULL);
INSERT INTO past.product_listings (id, outlet_id, outlet_name, valid_from, valid_to, run_id) VALUES ('X', 'OX', 'First', '2026-11-01', '2026-11-02', 'r2');
INSERT INTO main.product_listings (id, outlet_id, outlet_name, valid_from) VALUES ('X', 'OX', 'Second', '2026-11-02');
INSERT INTO main.order_line_items (order_id, position, outlet_id, outlet_name) VALUES ('R7', 1, 'OX', 'A name in an order');
INSERT INTO main.outlet_channels (id, outlet_id, channel_type, do_follow_links_allowed, do_follow_links_limit, do_follow_links_unlimited) VALUES
	('K1', 'O1', 'a', true, 5, true), ('K2', 'O1', 'b', true, 5, NULL), ('K3', 'O1', 'c', true, NULL, NULL), ('K4', 'O1', 'd', false, NULL, NULL);
-- Orders of the listing L. R2 and a line of R1 are deleted. R4 is only in its line item.
INSERT INTO main.profiles (id, name, deleted_at) VALUES ('P1', 'Acme', NULL), ('P9', 'Gone', '2026-10-01');
INSERT INTO main.orders (id, reference_number, profile_id, created_at, date_paid, deleted_at) VALUES ('R1', 'PO-1', 'P1', '2026-10-01', '2026-10-02', NULL),
	('R2', NULL, 'P1', '2026-10-04', NULL, '2026-10-05'), ('R3', NULL, NULL, '2026-10-05', '2026-10-06', NULL), ('R6', NULL, NULL, '2026-09-01', NULL, NULL);
INSERT INTO main.order_line_items (order_id, position, product_id, created_at, deleted_at) VALUES
	('R1', 1, 'L', NULL, NULL), ('R1', 2, 'L', NULL, '2026-10-05'), ('R2', 1, 'L', NULL, NULL), ('R3', 1, 'L', NULL, NULL), ('R4', 1, 'L', '2026-10-03', NULL);
INSERT INTO main.order_items (id, order_id, product_id, outlet_id, date_paid, commission_amount, vendor_cost, is_publisher_paid, deleted_at) VALUES
	('I0', 'R5', 'M', 'O1', '2026-10-09', 7, NULL, NULL, NULL), ('I1', 'R1', 'L', 'O1', '2026-10-02', 10, 50, true, NULL),
	('I3', 'R3', 'L', 'O1', '2026-10-06', 5, NULL, NULL, NULL), ('I9', 'R3', 'L', 'O1', '2026-10-07', 6, NULL, NULL, '2026-10-08');
INSERT INTO main.profile_orders (profile_id, order_id) VALUES ('P1', 'R1'), ('P1', 'R6'), ('P1', 'R2');
-- The items of the order R10 were promised for 6 October, except for J7.
INSERT INTO main.products (id, name, max_delivery_days) VALUES ('Z', 'Zed', 5);
INSERT INTO main.order_line_items (order_id, position, product_id, deleted_at) VALUES ('R10', 1, 'Z', NULL), ('R10', 2, 'Z', '2026-10-03');
INSERT INTO main.order_line_item_includes (order_id, line_position, position, channel_type) VALUES ('R10', 1, 2, 'b'), ('R10', 1, 1, 'a'), ('R10', 2, 1, 'c');
INSERT INTO main.orders (id, reference_number, created_at) VALUES ('R10', 'PO-10', '2026-10-01');
INSERT INTO past.orders (id, reference_number, valid_from, valid_to, run_id) VALUES ('R10', 'OLD', '2026-10-30', '2026-11-01', 'r1');
INSERT INTO main.order_items (id, order_id, product_id, product_name, date_paid, is_refunded, article_id, valid_from) VALUES
	('J1', 'R10', 'Z', 'J1', '2026-10-01', true, NULL, '2026-11-02'), ('J2', 'R10', 'Z', 'J2', '2026-10-01', NULL, NULL, '2026-11-02'), ('J3', 'R10', 'Z', 'J3', '2026-10-01', NULL, 'A3', '2026-11-02'),
	('J4', 'R10', 'Z', 'J4', '2026-10-01', NULL, 'A4', '2026-11-02'), ('J5', 'R10', 'Z', 'J5', '2026-10-01', NULL, 'A5', '2026-11-02'), ('J6', 'R10', 'Z', 'J6', '2026-10-01', NULL, NULL, '2026-11-02'),
	('J7', 'R10', 'Z', 'J7', '2026-11-02', NULL, NULL, '2026-11-02'), ('J8', 'R10', 'Z', 'J8', NULL, NULL, NULL, '2026-11-02');
UPDATE main.order_items SET sale_price = 10, commission_amount = 3, commission_date_paid = '2026-10-05', reseller_price = 2 WHERE id = 'J2';
UPDATE main.order_items SET commission_amount = 4 WHERE id = 'J3';
INSERT INTO main.campaign_articles (id, name, order_item_id, valid_from) VALUES ('A2', 'Name in the campaign', 'J2', '2026-11-03'), ('A3', 'Third', NULL, '2026-11-01');
INSERT INTO main.articles (id, name, status_prefix, campaign_id) VALUES ('A2', 'Second', 'published', 'C'), ('A3', 'Third', 'published', NULL), ('A4', 'Fourth', 'cancelled', NULL), ('A5', 'Fifth', 'writing', NULL);
INSERT INTO main.article_statuses (article_id, position, effective_at, name, prefix) VALUES ('A2', 1, '2026-10-03', 'Writing', 'writing'),
	('A2', 2, '2026-10-04 12:00:00+00', NULL, 'published'), ('A2', 3, NULL, 'Ordered', 'ordered'), ('A3', 1, '2026-10-10', 'Published', 'published');
CREATE TABLE IF NOT EXISTS main.article_status_events (event_id VARCHAR, article_id VARCHAR, status_prefix VARCHAR, effective_at TIMESTAMPTZ, changed_at TIMESTAMPTZ, received_at TIMESTAMPTZ, source VARCHAR);
INSERT INTO main.article_status_events (event_id, article_id, status_prefix, effective_at, changed_at, received_at) VALUES
	('e1', 'A2', 'published', '2026-10-05', NULL, '2026-10-05'), ('e2', 'A2', 'writing', NULL, '2026-10-04', '2026-10-06'), ('e3', 'A2', 'ordered', NULL, NULL, '2026-10-01');
INSERT INTO main.article_comments (article_id, id, created_at, updated_at, content, parent_comment_id) VALUES ('A2', 'k1', '2026-10-01', '2026-10-01', 'unchanged', NULL),
	('A2', 'k2', '2026-10-02', '2026-10-03', 'edited', NULL), ('A2', 'k4', '2026-10-05', NULL, 'second reply', 'k1'), ('A2', 'k5', '2026-10-04', NULL, 'first reply', 'k1');
INSERT INTO past.article_comments (article_id, id, content, valid_from, valid_to, run_id) VALUES ('A2', 'k3', 'archived', '2026-11-01', '2026-11-02', 'r2');
CREATE TABLE IF NOT EXISTS main.article_comment_events (event_id VARCHAR, topic VARCHAR, comment_id VARCHAR, content_text VARCHAR, author_name VARCHAR, updated_at TIMESTAMPTZ, received_at TIMESTAMPTZ);
INSERT INTO main.article_comment_events (event_id, topic, comment_id, content_text, received_at) VALUES
	('e1', 'comment.created', 'k3', 'new', '2026-11-01'), ('e2', 'comment.archived', 'k3', 'archived', '2026-11-02'), ('e3', 'comment.updated', 'k2', 'edited', '2026-10-03'), ('e4', 'comment.updated', 'k9', 'elsewhere', '2026-10-03');
INSERT INTO main.files (id, name) VALUES ('F1', 'Name of the file');
INSERT INTO main.article_files (article_id, position, value, id, name) VALUES ('A2', 1, 'F1', NULL, NULL), ('A2', 2, NULL, 'F2', NULL), ('A3', 1, NULL, 'F1', 'A copy'), ('A3', 2, NULL, 'F2', 'Of a copy');
INSERT INTO main.campaign_article_addons (article_id, position, id, name) VALUES ('A2', 1, 'D1', NULL), ('A2', 2, 'D2', 'Named');
-- The campaign C8 is only in profile_campaigns, and C9 is deleted.
INSERT INTO main.campaigns (id, name, profile_id, deleted_at) VALUES ('C', 'Autumn', 'P1', NULL), ('C9', 'Deleted', 'P1', '2026-10-01');
INSERT INTO main.order_items (id, order_id, article_campaign_id, article_campaign_name, valid_from) VALUES ('I8', 'R8', 'C', 'Name in an item', '2026-11-03');
INSERT INTO main.profile_campaigns (profile_id, campaign_id) VALUES ('P1', 'C8'), ('P1', 'C');
INSERT INTO main.campaign_status_counts (campaign_id, id, name, count) VALUES ('C', 's1', 'Few', 1), ('C', 's2', 'Many', 3);
INSERT INTO meta.deletions (run_id, table_name, key, evidence) VALUES ('r1', 'orders', 'R1', 'first'), ('r2', 'orders', 'R1', 'last');
INSERT INTO meta.rejects (run_id, seq, table_name, key, column_name, raw, reason) VALUES
	('r1', 1, 'orders', 'R1', 'total', 'a', 'b'), ('r2', 2, 'orders', 'R1', 'name', 'a', 'b'), ('r2', 1, 'orders', 'R1', 'total', 'a', 'b'), ('r2', 3, 'profiles', 'R1', 'name', 'a', 'b');
-- Values of the columns of the tables that are compared as a whole.
UPDATE main.product_listings SET website_url = 'https://l.example', country = 'Italy', state = 'Lazio', city = 'Rome',
	channel_type = 'website',
	placement_type = 'article', domain_authority = 40, domain_ranking = 9, is_do_follow = true, disclaimer = 'Ad',
		min_delivery_days = 3,
	max_delivery_days = 7 WHERE id = 'L';
UPDATE main.product_listings SET min_delivery_days = 4, max_delivery_days = 4, channel_type = 'newsletter',
	placement_type = 'mention', is_do_follow = false,
	domain_authority = 30 WHERE id = 'M';
UPDATE main.product_listings SET min_delivery_days = 2 WHERE id = 'N';
UPDATE main.outlet_listings SET max_delivery_days = 6, country = 'Spain' WHERE id = 'K';
UPDATE main.outlet_listing_channels SET placement_type = 'article', is_do_follow = true, domain_authority = 5,
	domain_ranking = 6,
	disclaimer_name = 'D', disclaimer_description = 'Text' WHERE position = 1;
INSERT INTO main.product_listing_includes (product_listing_id, position, channel_type, placement_type) VALUES ('L', 1,
	'newsletter', 'mention');
UPDATE main.order_items SET product_name = 'Post', outlet_name = 'One', product_price = 60, sale_price = 80,
	internal_cost = 1, commission_status = 'pending'
WHERE id = 'I1';
UPDATE main.order_items SET outlet_id = 'O1', outlet_name = 'One' WHERE id = 'J2';
UPDATE main.order_line_items SET quantity = 2, price = 7, name = 'Own name', outlet_id = 'O1', outlet_name = 'One',
	is_add_on = true
WHERE order_id IN ('R1', 'R10') AND position = 1;
UPDATE main.orders SET status = 'paid', total = 100, checkout_link = 'https://pay.example',
	external_reference_number = 'EXT', name = 'Lee',
	email = 'lee@a.example' WHERE id = 'R1';
UPDATE main.outlets SET website_url = 'https://o.example', country = 'Italy', state = 'Lazio', city = 'Rome',
	is_indexed = true WHERE id = 'O1';
UPDATE main.outlet_channels SET placement_type = 'p', channel_handle = '@h', channel_url = 'https://h.example',
	is_do_follow = true,
	domain_authority = 5, domain_ranking = 6, disclaimer_name = 'D', disclaimer_description = 'Text' WHERE id = 'K1';
INSERT INTO main.outlet_channel_social_links (outlet_channel_id, position, url) VALUES ('K1', 2, 'https://s2.example'),
	('K1', 1, 'https://s1.example'),
	('K2', 1, 'https://s3.example');
INSERT INTO main.outlet_products (outlet_id, product_id, name, active, min_delivery_days, max_delivery_days,
	is_featured, updated_at, deleted_at) VALUES
	('O1', 'L', 'Post', true, 3, 7, false, '2026-10-01', '2026-10-02'), ('OX', 'X', 'Elsewhere', NULL, NULL, NULL, NULL,
		NULL, NULL);
INSERT INTO main.outlet_tags (outlet_id, position, name) VALUES ('O1', 1, 'news');
UPDATE main.campaigns SET status = 'active', reference = 'REF', target_date = '2026-12-01', budget = 100,
	created_at = '2026-10-01', total_articles = 4
WHERE id = 'C';
UPDATE main.profiles SET legal_company_name = 'Acme Ltd', type = 'brand', location = 'Rome',
	website_url = 'https://p.example',
	drive_link = 'https://d.example', updated_at = '2026-10-01' WHERE id = 'P1';
INSERT INTO main.profile_primary_goals (profile_id, position, name) VALUES ('P1', 1, 'SEO');
UPDATE main.articles SET status_name = 'Live', live_url = 'https://live.example',
	draft_doc_url = 'https://draft.example',
	brief_doc_url = 'https://brief.example', writer_first_name = 'Ann', writer_last_name = 'Lee',
		expected_completion_date = '2026-10-09' WHERE id = 'A2';
INSERT INTO main.profile_order_items (id, name, profile_id, campaign_id, product_id, outlet_id, outlet_name, type,
	is_add_on, max_delivery_days) VALUES
	('I1', 'Post', 'P1', 'C', 'L', 'O1', 'One', 'article', true, 7);
UPDATE main.article_comments SET author_name = 'Ann' WHERE id = 'k1';
UPDATE main.article_comment_events SET author_name = 'Bob', updated_at = '2026-11-01' WHERE event_id = 'e2';
UPDATE main.article_status_events SET source = 'webhook' WHERE event_id = 'e1';
UPDATE main.article_files SET file_url = 'https://f.example', mime_type = 'text/plain', size = 5,
	created_at = '2026-10-01', deleted_at = '2026-10-02'
WHERE article_id = 'A2' AND position = 1;
INSERT INTO main.campaign_article_includes (article_id, position, channel_type, placement_type) VALUES ('A2', 1,
	'newsletter', 'mention');
-- A newer row of another table contains the profile P1 too.
UPDATE main.campaigns SET profile_name = 'Name in a campaign', valid_from = '2026-11-03' WHERE id = 'C9';
-- A page shows the last version of its record.
INSERT INTO past.campaigns (id, name, valid_from, valid_to, run_id) VALUES ('C', 'Old campaign', '2026-10-30', '2026-11-01', 'r1');
INSERT INTO past.articles (id, name, valid_from, valid_to, run_id) VALUES ('A2', 'Old article', '2026-10-30', '2026-11-01', 'r1');
INSERT INTO past.profiles (id, name, valid_from, valid_to, run_id) VALUES ('P1', 'Old profile', '2026-10-30', '2026-11-01', 'r1');
INSERT INTO past.outlets (id, name, valid_from, valid_to, run_id) VALUES ('O1', 'Old outlet', '2026-10-30', '2026-11-01', 'r1');
