-- The names of outlets, from all tables that contain names of outlets.
WITH names AS (
    SELECT 1 AS name_rank, id AS outlet_id, name AS outlet_name FROM ${current}.outlets
    UNION ALL
    SELECT 2 AS name_rank, outlet_id, outlet_name FROM ${current}.product_listings
    UNION ALL
    SELECT 3 AS name_rank, outlet_id, outlet_name FROM ${current}.outlet_listings
    UNION ALL
    SELECT 4 AS name_rank, outlet_id, outlet_name FROM ${current}.order_items
    UNION ALL
    SELECT 5 AS name_rank, outlet_id, outlet_name FROM ${current}.order_line_items
)
SELECT
    outlet_id,
    coalesce(
        min(CASE WHEN name_rank = 1 THEN outlet_name END),
        min(CASE WHEN name_rank = 2 THEN outlet_name END),
        min(CASE WHEN name_rank = 3 THEN outlet_name END),
        min(outlet_name)) AS outlet_name
FROM names
WHERE outlet_id IS NOT NULL AND outlet_name IS NOT NULL
GROUP BY outlet_id
