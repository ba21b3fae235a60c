-- subject: quality
-- title: Changes of an outlet
-- grain: one row per changed field, and one per new or deleted record, of an outlet and its catalog
-- about: Differences between two states of an outlet and its catalog: tags, channels, products, listings and prices. The earlier state is at the start of the day "since", and the later state at the start of the day "until". Without "until", the later state is the newest snapshot. A record counts if it belonged to the outlet at any time. A new or deleted record has one row with the whole record. Orders and articles are not part of the catalog.
-- param: outlet VARCHAR REQUIRED -- id or name of the outlet
-- values: SELECT name FROM outlets UNION ALL SELECT outlet_name FROM history.product_listings UNION ALL SELECT id FROM outlets
-- param: since DATE snapshot-30d -- the earlier state is at the start of this day
-- param: until DATE NULL -- the later state is at the start of this day
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
WITH outlet_ids AS (
    SELECT id FROM history.outlets WHERE $outlet IN (id, name)
    UNION
    SELECT outlet_id FROM history.product_listings WHERE $outlet IN (outlet_id, outlet_name)
),
-- The id of a listing is the id of its product.
product_ids AS (
    SELECT product_id AS id FROM history.outlet_products WHERE outlet_id IN (FROM outlet_ids)
    UNION
    SELECT id FROM history.product_listings WHERE outlet_id IN (FROM outlet_ids)
    UNION
    SELECT id FROM history.outlet_listings WHERE outlet_id IN (FROM outlet_ids)
),
channel_ids AS (
    SELECT DISTINCT id FROM history.outlet_channels WHERE outlet_id IN (FROM outlet_ids)
),
catalog_changes AS (
    SELECT *, split_part("key", '/', 1) AS first_key_part
    FROM changes(
        CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR),
        coalesce(CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR), TIMESTAMPTZ 'infinity'))
    WHERE table_name IN ('outlets', 'outlet_tags', 'outlet_products', 'outlet_channels', 'outlet_channel_social_links',
        'outlet_listings', 'outlet_listing_channels', 'outlet_listing_prices', 'outlet_listing_tags',
        'products', 'product_prices', 'product_example_links', 'product_listings', 'product_listing_prices',
        'product_listing_tags', 'product_listing_includes', 'product_listing_example_links')
)
SELECT
    table_name,
    "key" AS record_key,
    kind,
    field,
    CASE WHEN json_type("old") = 'VARCHAR' THEN "old" ->> '$' ELSE CAST("old" AS VARCHAR) END AS old_value,
    CASE WHEN json_type("new") = 'VARCHAR' THEN "new" ->> '$' ELSE CAST("new" AS VARCHAR) END AS new_value
FROM catalog_changes
WHERE CASE
    WHEN table_name IN ('outlets', 'outlet_tags', 'outlet_products') THEN first_key_part IN (FROM outlet_ids)
    WHEN starts_with(table_name, 'outlet_channel') THEN first_key_part IN (FROM channel_ids)
    ELSE first_key_part IN (FROM product_ids)
END
ORDER BY table_name, record_key, field
LIMIT $top
