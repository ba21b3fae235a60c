-- Some listings of the catalog, one narrow row each. All at once, prices and tags by
-- listing need more memory than the sandbox has.
CREATE OR REPLACE TABLE derived.part AS
SELECT rowid AS source, id FROM main.product_listings WHERE rowid >= {from} AND rowid < {to};

CREATE OR REPLACE TABLE derived.tagged AS
SELECT l.source, list_sort(list_distinct(list(t.name))) AS tags
FROM main.product_listing_tags AS t
JOIN derived.part AS l ON l.id = t.product_listing_id
WHERE t.name IS NOT NULL
GROUP BY l.source;

INSERT INTO derived.tag_sets
SELECT (SELECT count(*) FROM derived.tag_sets) + row_number() OVER (), tags
FROM (SELECT tags FROM derived.tagged EXCEPT SELECT tags FROM derived.tag_sets);

CREATE OR REPLACE TABLE derived.offered AS
SELECT l.source, bit_or(CAST(1 AS BIGINT) << o.code) AS offers{price_columns}
FROM main.product_listing_prices AS p
JOIN derived.part AS l ON l.id = p.product_listing_id
JOIN derived.offers AS o ON o.currency IS NOT DISTINCT FROM p.currency AND o.tier IS NOT DISTINCT FROM p.pricing_tier
WHERE p.unit_amount IS NOT NULL
GROUP BY l.source;

{into}
SELECT
    s.place,
    l.rowid AS source,
    lower(concat_ws(chr(10), l.name, l.outlet_name, l.website_url)) AS search,
    l.domain_authority,
    l.domain_ranking,
    l.max_delivery_days,
    l.created_at,
    coalesce(ts.code, 0) AS tag,
    coalesce(p.offers, 0) AS offers,
    p.* EXCLUDE (source, offers){value_codes}
FROM main.product_listings AS l
JOIN derived.places AS s ON s.source = l.rowid
LEFT JOIN derived.tagged AS t ON t.source = l.rowid
LEFT JOIN derived.tag_sets AS ts ON ts.tags = t.tags
LEFT JOIN derived.offered AS p ON p.source = l.rowid{value_joins}
WHERE l.rowid >= {from} AND l.rowid < {to};
