-- The derived tables of the catalog: one narrow row per listing, in the order of ids, with
-- every trait as a small number whose meaning is in a table beside it. A list of values is
-- one number, too: that of the set.
{facet_tables}

CREATE TABLE derived.tagged AS
SELECT product_listing_id AS id, list_sort(list_distinct(list(name))) AS tags
FROM main.product_listing_tags
WHERE name IS NOT NULL
GROUP BY product_listing_id;

CREATE TABLE derived.tag_sets AS
SELECT CAST(row_number() OVER () AS INTEGER) AS code, tags FROM (SELECT DISTINCT tags FROM derived.tagged);

CREATE TABLE derived.tag AS
SELECT code, unnest(tags) AS value FROM derived.tag_sets UNION ALL SELECT 0, NULL;

CREATE TABLE derived.offered AS
SELECT p.product_listing_id AS id{price_columns}
FROM main.product_listing_prices AS p
JOIN derived.offers AS o ON o.currency IS NOT DISTINCT FROM p.currency AND o.tier IS NOT DISTINCT FROM p.pricing_tier
WHERE p.unit_amount IS NOT NULL
GROUP BY p.product_listing_id;

CREATE TABLE derived.listings AS
SELECT
    CAST(row_number() OVER (ORDER BY l.id) AS INTEGER) AS place,
    l.rowid AS source,
    lower(concat_ws(chr(10), l.name, l.outlet_name, l.website_url)) AS search,
    CASE WHEN l.name IS NOT NULL THEN CAST(dense_rank() OVER (ORDER BY l.name) AS INTEGER) END AS name,
    CASE WHEN l.outlet_name IS NOT NULL THEN CAST(dense_rank() OVER (ORDER BY l.outlet_name) AS INTEGER) END AS outlet_name,
    l.domain_authority,
    l.domain_ranking,
    l.max_delivery_days,
    l.created_at,
    coalesce(ts.code, 0) AS tag,
    p.* EXCLUDE (id){facet_codes}
FROM main.product_listings AS l
LEFT JOIN derived.tagged AS t ON t.id = l.id
LEFT JOIN derived.tag_sets AS ts ON ts.tags = t.tags
LEFT JOIN derived.offered AS p ON p.id = l.id{facet_joins}
ORDER BY place;

DROP TABLE derived.tagged;
DROP TABLE derived.tag_sets;
DROP TABLE derived.offered;
