-- Fills the warehouse of the benchmark. The variable listings is the number of listings; each has
-- two or three prices. In each night of a year, one listing in a hundred changes its price, one in a
-- thousand is new and one in a thousand is withdrawn. Day 0 is the first snapshot, day 365 the newest.
CREATE TEMP MACRO night(day) AS TIMESTAMPTZ '2025-11-20 02:00:00+00' + to_days(CAST(day AS INTEGER));
CREATE TEMP MACRO pick(words, n) AS words[1 + CAST(n % len(words) AS BIGINT)];

INSERT INTO meta.runs (run_id, started_at, ended_at, snapshot_at, outcome, exit_code, requests, rows, rows_new, rows_changed, rows_gone)
SELECT strftime(night(day), '%Y%m%dT%H%M%SZ'), night(day), night(day) + INTERVAL 20 MINUTE, night(day), 'complete', 0, 12000, 5000000, 1000, 10000, 1000
FROM range(366) AS t(day);
INSERT INTO meta.tables (run_id, table_name, rows, rows_new, rows_changed, rows_gone)
SELECT run_id, name, getvariable('listings'), 1000, 10000, 1000
FROM meta.runs, (SELECT DISTINCT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main');
INSERT INTO meta.streams (run_id, stream, grade, rows, fetched, carried, failed)
SELECT run_id, 'stream_' || s, pick(['exact', 'repaired', 'carried_forward'], s), 1000, 10, 10, 0 FROM meta.runs, range(25) AS t(s);
INSERT INTO meta.rejects (run_id, seq, table_name, key, column_name, raw, reason)
SELECT run_id, n, 'products', n, 'created_at', '"yesterday"', 'is no time' FROM meta.runs, range(200) AS t(n);
INSERT INTO meta.drift (table_name, path, kind, first_run, last_run, count, sample)
SELECT 'products', 'field_' || n, 'field', (SELECT min(run_id) FROM meta.runs), (SELECT max(run_id) FROM meta.runs), n, 'x' FROM range(200) AS t(n);

-- The days on which each row version of each listing begins and ends. n identifies the listing, and v
-- its row version: the price changes every 100 days, so there are up to 5.
CREATE TEMP TABLE version_days AS
WITH listings AS (
    SELECT n, total,
        CASE WHEN n >= total THEN 1 + n % 365 ELSE 0 END AS added,
        CASE WHEN n < total * 0.365 THEN 1 + n % 365 ELSE 366 END AS withdrawn
    FROM (SELECT getvariable('listings') AS total), range(CAST(1.365 * getvariable('listings') AS BIGINT)) AS t(n)
),
versions AS (
    SELECT n, added, withdrawn, v, CASE WHEN v = 0 THEN 0 ELSE 100 * v - n % 100 END AS began, 100 * (v + 1) - n % 100 AS ended
    FROM listings, range(5) AS t(v)
)
SELECT n, v, greatest(began, added) AS began, least(ended, withdrawn) AS ended
FROM versions
WHERE greatest(began, added) < least(ended, withdrawn) AND greatest(began, added) <= 365;

CREATE TEMP TABLE listing_rows AS
SELECT
    began, ended, 'product-' || n AS id, 'Placement ' || n AS name, 'outlet-' || n % 20000 AS outlet_id, 'Outlet ' || n % 20000 AS outlet_name,
    pick(['US', 'GB', 'DE', 'FR', 'CA', 'JP', 'SG', 'AU', 'BR', 'IN', 'CI', NULL], hash(n, 1)) AS country,
    pick(['WEBSITE', 'WEBSITE', 'WEBSITE', 'NEWSLETTER', 'PHOTO_SOCIAL', 'PROFESSIONAL_SOCIAL', 'VIDEO_SHARING', 'SHORT_VIDEO', 'MICROBLOG', 'PODCAST', 'OTHER'], hash(n, 2)) AS channel_type,
    pick(['FULL_FEATURE', 'PRESS_RELEASE', 'MENTION', 'QUOTE', 'LISTICLE'], hash(n, 3)) AS placement_type,
    hash(n, 4) % 101 AS domain_authority, hash(n, 5) % 3 = 0 AS is_do_follow
FROM version_days;
INSERT INTO main.product_listings (id, name, outlet_id, outlet_name, country, channel_type, placement_type, domain_authority, is_do_follow, valid_from, row_hash)
SELECT id, name, outlet_id, outlet_name, country, channel_type, placement_type, domain_authority, is_do_follow, night(began), 0 FROM listing_rows WHERE ended > 365;
INSERT INTO past.product_listings (id, name, outlet_id, outlet_name, country, channel_type, placement_type, domain_authority, is_do_follow, valid_from, row_hash, valid_to, run_id)
SELECT id, name, outlet_id, outlet_name, country, channel_type, placement_type, domain_authority, is_do_follow, night(began), 0, night(ended), 'r' FROM listing_rows WHERE ended <= 365;

CREATE TEMP TABLE price_rows AS
SELECT
    began, ended, 'product-' || n AS id, position,
    CAST((40 + hash(n) % 2000) * (1 + position * 0.1) * (1 + (hash(n, v) % 200) / 1000) AS DECIMAL(18, 2)) AS unit_amount,
    pick(['USD', 'USD', 'USD', 'EUR', NULL], n) AS currency, pick(['standard', 'professional', 'reseller'], position - 1) AS pricing_tier
FROM version_days, range(1, 4) AS t(position)
WHERE position < 3 OR n % 2 = 0;
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from, row_hash)
SELECT id, position, unit_amount, currency, pricing_tier, night(began), 0 FROM price_rows WHERE ended > 365;
INSERT INTO past.product_listing_prices (product_listing_id, position, unit_amount, currency, pricing_tier, valid_from, row_hash, valid_to, run_id)
SELECT id, position, unit_amount, currency, pricing_tier, night(began), 0, night(ended), 'r' FROM price_rows WHERE ended <= 365;

INSERT INTO orders (id, reference_number, status, date_paid, total, created_at)
SELECT 'order-' || n, 'R' || n, pick(['paid', 'paid', 'pending_payment'], n), CASE WHEN n % 3 < 2 THEN night(n % 365) END, 100 + n % 900, night(n % 365)
FROM range(getvariable('listings') // 10) AS t(n);
INSERT INTO order_items (id, order_id, product_id, product_name, product_type, outlet_id, outlet_name, article_id, date_paid, created_at, sale_price,
    vendor_cost, internal_cost, reseller_price, commission_amount, commission_status, commission_date_paid, is_publisher_paid, is_reseller_paid, refund_required, is_refunded, refund_date)
SELECT 'item-' || n, 'order-' || n // 2, 'product-' || hash(n) % 100000, 'Product', 'article', 'outlet-' || n % 20000, 'Outlet ' || n % 20000,
    CASE WHEN n % 2 = 0 THEN 'article-' || n // 2 END, CASE WHEN n // 2 % 3 < 2 THEN night(n // 2 % 365) END, night(n // 2 % 365),
    100 + n % 500, 50, 10, 5, CASE WHEN n % 11 > 0 THEN 12.5 END, pick(['paid', 'pending'], n), CASE WHEN n % 2 = 0 THEN night(n % 365) END,
    n % 2 = 0, n % 3 = 0, n % 50 < 2, n % 50 = 0, CASE WHEN n % 50 = 0 THEN night(n // 2 % 365) + INTERVAL 9 DAY END
FROM range(getvariable('listings') // 5) AS t(n);
INSERT INTO profiles (id, name) SELECT 'profile-' || n, 'Profile ' || n FROM range(1000) AS t(n);
INSERT INTO campaigns (id, name, profile_id, profile_name, status, target_date, total_articles)
SELECT 'campaign-' || n, 'Campaign ' || n, 'profile-' || n % 1000, 'Profile ' || n % 1000, 'active', night(n % 400), 5 FROM range(getvariable('listings') // 50) AS t(n);
INSERT INTO campaign_articles (id, name, campaign_id, order_item_id, created_at, writer_id, writer_first_name, brief_doc_url)
SELECT 'article-' || n, 'Article ' || n, 'campaign-' || n // 5, 'item-' || 2 * n, night(n % 365), 'writer-' || n % 500, 'Writer', 'x' FROM range(getvariable('listings') // 10) AS t(n);
INSERT INTO articles (id, name, campaign_id, status_prefix, status_name, writer_id, writer_first_name, expected_completion_date)
SELECT 'article-' || n, 'Article ' || n, 'campaign-' || n // 5, pick(['published', 'draft_submitted', 'revision_requested'], n), 'Status', 'writer-' || n % 500, 'Writer', night(n % 365 + 21)
FROM range(getvariable('listings') // 10) AS t(n);
INSERT INTO article_statuses (article_id, position, effective_at, prefix, name)
SELECT 'article-' || n, p, night(n % 365) + to_days(CAST(p AS INTEGER)) + to_hours(CAST(hash(n, p) % 48 AS INTEGER)),
    pick(['published', 'writer_assigned', 'brief_submitted', 'draft_submitted', 'revision_requested', 'draft_submitted', 'pending_publishing'], p), 'Status'
FROM range(getvariable('listings') // 10) AS t(n), range(1, 8) AS u(p);
INSERT INTO article_comments (article_id, id, author_name, created_at, parent_comment_id)
SELECT 'article-' || n, p, 'Author ' || hash(n, p) % 9, night(n % 365), CASE WHEN p = 3 THEN '1' END FROM range(getvariable('listings') // 10) AS t(n), range(1, 4) AS u(p);
INSERT INTO profile_order_items (id, profile_id, campaign_id) SELECT 'item-' || n, 'profile-' || n % 1000, 'campaign-' || n // 10 FROM range(getvariable('listings') // 5) AS t(n);
INSERT INTO outlets (id, name) SELECT 'outlet-' || n, 'Outlet ' || n FROM range(20000) AS t(n);
