-- subject: quality
-- title: Changes of an outlet
-- grain: one row per change, the latest night first
-- about: Changes of an outlet and of its channels, listings, prices, tags, links and included placements. changed_at is the first snapshot with the new value. If several lists of the service show the same change of a listing in the same night, it has one row. A new or removed record has one row, without rows for its parts. If an item of a list moves to another position, this is not a change. A record counts if it belonged to the outlet at any time. Orders and articles are left out.
-- also: history, news, difference, what changed, site, price, log
-- param: outlet VARCHAR REQUIRED -- id or name of the outlet
-- values: SELECT name FROM outlets UNION ALL SELECT outlet_name FROM history.product_listings UNION ALL SELECT id FROM outlets
-- param: since DATE snapshot-30d -- only changes on or after this date
-- param: until DATE NULL -- only changes before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
WITH outlet_ids AS MATERIALIZED (
    SELECT id FROM history.outlets WHERE $outlet IN (id, name)
    UNION
    SELECT outlet_id FROM history.product_listings WHERE $outlet IN (outlet_id, outlet_name)
),
outlets AS MATERIALIZED (
    SELECT id, arg_max(name, valid_from) AS name
    FROM (
        SELECT id, name, valid_from FROM history.outlets WHERE id IN (FROM outlet_ids)
        UNION ALL
        SELECT outlet_id, outlet_name, valid_from FROM history.product_listings WHERE outlet_id IN (FROM outlet_ids)
        UNION ALL
        SELECT outlet_id, outlet_name, TIMESTAMPTZ '-infinity' FROM mart.outlet_names WHERE outlet_id IN (FROM outlet_ids))
    GROUP BY id
),
-- A listing and its product have the same id.
listing_names AS (
    SELECT id, outlet_id, name, valid_from FROM history.product_listings WHERE outlet_id IN (FROM outlet_ids)
    UNION ALL
    SELECT id, outlet_id, name, valid_from FROM history.outlet_listings WHERE outlet_id IN (FROM outlet_ids)
    UNION ALL
    SELECT o.product_id, o.outlet_id, coalesce(o.name, p.name), o.valid_from
    FROM history.outlet_products AS o LEFT JOIN products AS p ON p.id = o.product_id WHERE o.outlet_id IN (FROM outlet_ids)
),
listings AS MATERIALIZED (
    SELECT id, arg_max(outlet_id, valid_from) AS outlet_id, arg_max(name, valid_from) AS name FROM listing_names GROUP BY id
),
channels AS MATERIALIZED (
    SELECT id, arg_max(outlet_id, valid_from) AS outlet_id,
        concat_ws(', ', arg_max(channel_type, valid_from), arg_max(placement_type, valid_from)) AS name
    FROM history.outlet_channels WHERE outlet_id IN (FROM outlet_ids) GROUP BY id
),
-- The row versions of records, and of their parts. label tells the parts of a record apart. fields are the values
-- that can change. The position of a record is 0.
versions AS (
    SELECT 'outlets' AS source, 'outlet' AS thing, id, NULL AS label, CAST(to_json(r) AS VARCHAR) AS fields, 0 AS position, valid_from, valid_to
    FROM (SELECT * FROM history.outlets WHERE id IN (FROM outlet_ids)) AS r
    UNION ALL
    SELECT 'outlets', 'tag', outlet_id, name, to_json({'extra': extra}), position, valid_from, valid_to
    FROM history.outlet_tags WHERE outlet_id IN (FROM outlet_ids)
    UNION ALL
    SELECT 'channels', 'channel', id, NULL, to_json(r), 0, valid_from, valid_to
    FROM (SELECT * FROM history.outlet_channels WHERE id IN (SELECT id FROM channels)) AS r
    UNION ALL
    SELECT 'channels', 'social link', outlet_channel_id, url, to_json({'extra': extra}), position, valid_from, valid_to
    FROM history.outlet_channel_social_links WHERE outlet_channel_id IN (SELECT id FROM channels)
    UNION ALL
    SELECT 'product listings', 'listing', id, NULL, to_json(r), 0, valid_from, valid_to
    FROM (SELECT * FROM history.product_listings WHERE id IN (SELECT id FROM listings)) AS r
    UNION ALL
    SELECT 'product listings', 'price', product_listing_id, concat_ws(', ', pricing_tier, currency),
        to_json({'amount': CAST(unit_amount AS VARCHAR), 'extra': extra}), position, valid_from, valid_to
    FROM history.product_listing_prices WHERE product_listing_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'product listings', 'tag', product_listing_id, name, to_json({'extra': extra}), position, valid_from, valid_to
    FROM history.product_listing_tags WHERE product_listing_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'product listings', 'included placement', product_listing_id, concat_ws(', ', channel_type, placement_type), to_json({'extra': extra}),
        position, valid_from, valid_to
    FROM history.product_listing_includes WHERE product_listing_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'product listings', 'example link', product_listing_id, url, to_json({'extra': extra}), position, valid_from, valid_to
    FROM history.product_listing_example_links WHERE product_listing_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'outlet listings', 'listing', id, NULL, to_json(r), 0, valid_from, valid_to
    FROM (SELECT * FROM history.outlet_listings WHERE id IN (SELECT id FROM listings)) AS r
    UNION ALL
    SELECT 'outlet listings', 'price', outlet_listing_id, concat_ws(', ', pricing_tier, currency),
        to_json({'amount': CAST(unit_amount AS VARCHAR), 'extra': extra}), position, valid_from, valid_to
    FROM history.outlet_listing_prices WHERE outlet_listing_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'outlet listings', 'tag', outlet_listing_id, name, to_json({'extra': extra}), position, valid_from, valid_to
    FROM history.outlet_listing_tags WHERE outlet_listing_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'outlet listings', 'channel', outlet_listing_id, concat_ws(', ', channel_type, placement_type),
        to_json({'is_do_follow': is_do_follow, 'domain_authority': domain_authority, 'domain_ranking': domain_ranking,
            'disclaimer_name': disclaimer_name, 'disclaimer_description': disclaimer_description, 'extra': extra}), position, valid_from, valid_to
    FROM history.outlet_listing_channels WHERE outlet_listing_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'products', 'product', id, NULL, to_json(r), 0, valid_from, valid_to
    FROM (SELECT * FROM history.products WHERE id IN (SELECT id FROM listings)) AS r
    UNION ALL
    SELECT 'products', 'price', product_id, concat_ws(', ', pricing_tier, currency),
        to_json({'amount': CAST(unit_amount AS VARCHAR), 'extra': extra}), position, valid_from, valid_to
    FROM history.product_prices WHERE product_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'products', 'example link', product_id, url, to_json({'extra': extra}), position, valid_from, valid_to
    FROM history.product_example_links WHERE product_id IN (SELECT id FROM listings)
    UNION ALL
    SELECT 'outlet products', 'product', product_id, NULL, to_json(r), 0, valid_from, valid_to
    FROM (SELECT * FROM history.outlet_products WHERE product_id IN (SELECT id FROM listings)) AS r
),
-- The rows of the first snapshot are not changes.
first_snapshot AS (
    SELECT min(snapshot_at) AS snapshot_at FROM meta.runs
),
ends AS (
    SELECT * EXCLUDE (valid_from, valid_to), valid_from AS changed_at, 'new' AS side
    FROM versions WHERE valid_from > (SELECT snapshot_at FROM first_snapshot)
    UNION ALL
    SELECT * EXCLUDE (valid_from, valid_to), valid_to, 'old' FROM versions WHERE valid_to IS NOT NULL
),
-- An unchanged item at another position has both an old and a new copy. Equal copies are numbered on each side, and
-- an old and a new copy with the same number are left out.
copies AS (
    SELECT *, row_number() OVER (PARTITION BY source, thing, id, label, fields, changed_at, side) AS copy
    FROM ends
    WHERE changed_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)
      AND ($until IS NULL OR changed_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
unmatched AS (
    FROM copies
    QUALIFY count(*) OVER (PARTITION BY source, thing, id, label, fields, changed_at, copy) = 1
),
-- Old and new items with the same label are compared in the order of their positions.
items AS (
    SELECT *, row_number() OVER (PARTITION BY source, thing, id, label, changed_at, side ORDER BY position) AS item FROM unmatched
),
changes AS (
    SELECT
        source, thing, id, label, changed_at,
        max(fields) FILTER (side = 'old') AS old_fields,
        max(fields) FILTER (side = 'new') AS new_fields,
        CASE WHEN count(*) = 2 THEN 'changed' WHEN min(side) = 'new' THEN 'new' ELSE 'gone' END AS kind,
        max(position) > 0 AS is_part
    FROM items
    GROUP BY source, thing, id, label, changed_at, item
),
-- A new or deleted record has no rows for its parts.
shown_changes AS (
    SELECT *
    FROM changes AS c
    WHERE NOT is_part OR kind = 'changed' OR NOT EXISTS (
        SELECT 1 FROM changes AS r
        WHERE NOT r.is_part AND r.source = c.source AND r.id = c.id AND r.changed_at = c.changed_at AND r.kind = c.kind)
),
-- A changed record or part has a row for each changed field. A new or removed one has a single row, which contains the
-- amount of a price.
field_changes AS (
    SELECT * EXCLUDE (old_fields, new_fields), old_fields -> field AS old_value, new_fields -> field AS new_value
    FROM (SELECT *, unnest(CASE WHEN kind = 'changed' THEN json_keys(new_fields) ELSE ['amount'] END) AS field FROM shown_changes)
    WHERE kind <> 'changed' OR (field NOT IN ('valid_from', 'valid_to', 'updated_at') AND (old_fields -> field) IS DISTINCT FROM (new_fields -> field))
),
-- Members of a JSON object are compared one by one. The path of a member is a JSON pointer.
members AS (
    SELECT *, '/' || replace(replace(member, '~', '~0'), '/', '~1') AS path
    FROM (
        SELECT *, unnest(CASE WHEN 'OBJECT' IN (json_type(old_value), json_type(new_value))
            THEN list_distinct(list_concat(json_keys(old_value), json_keys(new_value))) ELSE [NULL] END) AS member
        FROM field_changes)
),
value_changes AS (
    SELECT * REPLACE (
        CASE WHEN member IS NULL THEN old_value ELSE json_extract(old_value, path) END AS old_value,
        CASE WHEN member IS NULL THEN new_value ELSE json_extract(new_value, path) END AS new_value)
    FROM members
),
-- Amounts have two decimals, or all if the change is smaller.
texts AS (
    SELECT
        * EXCLUDE (old_value, new_value),
        list_transform([old_value, new_value], lambda v: CASE json_type(v)
            WHEN 'VARCHAR' THEN CASE WHEN field LIKE '%/_at' ESCAPE '/' THEN replace(replace(v ->> '$', ' ', 'T'), '+00', 'Z') ELSE v ->> '$' END
            WHEN 'BOOLEAN' THEN CASE CAST(v AS VARCHAR) WHEN 'true' THEN 'yes' ELSE 'no' END
            WHEN 'ARRAY' THEN concat(json_array_length(v), CASE json_array_length(v) WHEN 1 THEN ' item' ELSE ' items' END)
            WHEN 'OBJECT' THEN concat(len(json_keys(v)), CASE len(json_keys(v)) WHEN 1 THEN ' member' ELSE ' members' END)
            WHEN 'NULL' THEN NULL
            ELSE CAST(v AS VARCHAR)
        END) AS exact,
        CASE WHEN thing = 'price' AND field = 'amount' THEN list_transform(exact, lambda v: CAST(CAST(v AS DECIMAL(38, 2)) AS VARCHAR)) ELSE exact END AS rounded,
        CASE
            -- Such as "2 items" and "2 items, changed".
            WHEN exact[1] = exact[2] THEN [exact[1], exact[2] || ', changed']
            WHEN rounded[1] = rounded[2] THEN exact
            ELSE rounded
        END AS shown
    FROM value_changes
    WHERE kind <> 'changed' OR old_value IS DISTINCT FROM new_value
        -- The products of an outlet repeat the prices of the product.
        AND NOT (source = 'outlet products' AND member IS NOT DISTINCT FROM 'prices')
),
named_changes AS (
    SELECT
        t.*, coalesce(l.outlet_id, c.outlet_id, t.id) AS outlet_id,
        -- The service repeats values of the outlet in its listings. Without the id of the listing, these rows are equal,
        -- and DISTINCT keeps one of them.
        CASE WHEN is_part OR source NOT IN ('product listings', 'outlet listings')
            OR field NOT IN ('outlet_name', 'website_url', 'logo', 'country', 'state', 'city', 'is_indexed') THEN l.id END AS listing_id,
        c.name AS channel_name,
        CASE WHEN is_part THEN label ELSE coalesce(c.name, l.name, o.name) END AS name
    FROM texts AS t
    LEFT JOIN listings AS l ON l.id = t.id AND t.source NOT IN ('outlets', 'channels')
    LEFT JOIN channels AS c ON c.id = t.id AND t.source = 'channels'
    LEFT JOIN outlets AS o ON o.id = t.id AND t.source = 'outlets'
)
SELECT DISTINCT
    c.changed_at,
    o.name AS outlet_name,
    l.name AS listing_name,
    c.kind,
    -- Such as "price PRO, USD", "domain authority", "extra: seats" or "tag news: extra".
    CASE
        WHEN kind <> 'changed' THEN concat_ws(' ', thing, CASE WHEN thing = 'price' THEN nullif(label, '') END)
        ELSE concat_ws(': ',
            CASE WHEN is_part OR thing = 'channel' THEN concat_ws(' ', thing, nullif(coalesce(label, channel_name), '')) END,
            CASE WHEN NOT (is_part AND field = 'amount') THEN replace(CASE field WHEN 'outlet_name' THEN 'name' ELSE field END, '_', ' ') END,
            member)
    END AS what,
    CASE WHEN kind = 'changed' OR thing = 'price' THEN shown[1] WHEN kind = 'gone' THEN c.name END AS old_value,
    CASE WHEN kind = 'changed' OR thing = 'price' THEN shown[2] WHEN kind = 'new' THEN c.name END AS new_value,
    c.outlet_id,
    c.listing_id
FROM named_changes AS c
LEFT JOIN outlets AS o ON o.id = c.outlet_id
LEFT JOIN listings AS l ON l.id = c.listing_id
ORDER BY changed_at DESC, outlet_name, listing_name NULLS FIRST, what, old_value, new_value, outlet_id, listing_id
LIMIT $top
