-- The catalog page.

-- name: tables
-- The in-memory tables of the page, with the columns to search, filter and sort by. They have the
-- table and column names of main, so that one filter works on both. The column id of a listing is its
-- rank among the ids in main, so that joins and sorts compare integers.

-- The rank (id) and the rowid (main_rowid) of each listing.
CREATE OR REPLACE TABLE derived.ranks AS
SELECT id AS listing_id, rowid AS main_rowid, CAST(row_number() OVER (ORDER BY id) AS INTEGER) AS id
FROM main.product_listings;

CREATE OR REPLACE TABLE derived.product_listings AS
SELECT
    r.id,
    r.main_rowid,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    lower(concat_ws(chr(10), l.name, coalesce(l.outlet_name, n.outlet_name), l.website_url)) AS search,
    l.name,
    l.country,
    l.state,
    l.channel_type,
    l.placement_type,
    l.is_do_follow,
    l.disclaimer,
    l.domain_authority,
    l.domain_ranking,
    l.max_delivery_days,
    l.created_at
FROM main.product_listings AS l
JOIN derived.ranks AS r ON r.main_rowid = l.rowid
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id;

-- The lowest price of a listing for a currency and a tier, for a currency in any tier, and
-- for a tier in any currency.
CREATE OR REPLACE TABLE derived.product_listing_prices AS
SELECT
    r.id AS product_listing_id,
    p.currency,
    p.pricing_tier,
    min(p.unit_amount) AS unit_amount,
    grouping(p.currency) = 1 AS any_currency,
    grouping(p.pricing_tier) = 1 AS any_tier
FROM main.product_listing_prices AS p
JOIN derived.ranks AS r ON r.listing_id = p.product_listing_id
WHERE p.unit_amount IS NOT NULL
GROUP BY GROUPING SETS ((r.id, p.currency, p.pricing_tier), (r.id, p.currency), (r.id, p.pricing_tier));

CREATE OR REPLACE TABLE derived.product_listing_tags AS
SELECT DISTINCT r.id AS product_listing_id, t.name
FROM main.product_listing_tags AS t
JOIN derived.ranks AS r ON r.listing_id = t.product_listing_id
WHERE t.name IS NOT NULL;

DROP TABLE derived.ranks;

-- In-memory tables are compressed only by a checkpoint.
CHECKPOINT derived;

-- name: named_listings
-- main.product_listings. Missing names of outlets are taken from other tables.
SELECT l.* REPLACE (coalesce(l.outlet_name, n.outlet_name) AS outlet_name)
FROM main.product_listings AS l
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id;
