-- 300 listings with repeated values, and more combinations of currency and tier than a BIGINT has
-- bits.
INSERT INTO main.product_listings (id, name, outlet_name, website_url, country, state, channel_type, placement_type, is_do_follow, disclaimer, domain_authority, domain_ranking, max_delivery_days, created_at)
SELECT 'l' || i, nullif((['News', 'Blog', 'Zürich 100%', '_wild', NULL])[1 + (hash(i, 1) % 5)::INT] || ' ' || hash(i, 2) % 40, ''), (['Morning News', 'Blog of it''s', NULL])[1 + (hash(i, 3) % 3)::INT], 'https://site' || hash(i, 4) % 9 || '.example',
	(['US', 'DE', '(none)', '', NULL])[1 + (hash(i, 5) % 5)::INT], (['Ohio', 'it''s "quoted"', NULL])[1 + (hash(i, 6) % 3)::INT], (['website', 'newsletter', NULL])[1 + (hash(i, 7) % 3)::INT], (['article', 'mention', NULL])[1 + (hash(i, 8) % 3)::INT],
	([true, false, NULL])[1 + (hash(i, 9) % 3)::INT], (['Sponsored', 'Ad', NULL])[1 + (hash(i, 10) % 3)::INT], nullif(hash(i, 11) % 30, 0)::BIGINT, nullif(hash(i, 12) % 200, 0)::BIGINT, nullif(hash(i, 13) % 12, 0)::BIGINT, TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL 1 DAY * (hash(i, 14) % 50)::INT
FROM range(300) AS t(i);
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier)
SELECT 'l' || i, j, CASE WHEN hash(i, j, 15) % 8 > 0 THEN (hash(i, j, 16) % 1998 + 1) / 2 END, (['USD', 'EUR', 'GBP', '', NULL])[1 + (hash(i, j, 17) % 5)::INT], (['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T7', 'T8', 'T9', 'T10', 'T11', 'T12', 'T13', 'T14', 'T15', 'T16', 'T17', '(T)', '', NULL])[1 + (hash(i, j, 18) % 20)::INT]
FROM range(300) AS t(i), range(1, 6) AS p(j) WHERE hash(i, j, 19) % 3 > 0;
INSERT INTO main.product_listing_tags (product_listing_id, position, name)
SELECT 'l' || i, j, (['news', 'it''s', 'finance', '', NULL])[1 + (hash(i, j, 20) % 5)::INT] FROM range(300) AS t(i), range(1, 4) AS p(j) WHERE hash(i, j, 21) % 2 > 0;
