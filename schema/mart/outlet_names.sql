-- The names of outlets, from all tables that contain names of outlets.
-- grain: one row per outlet with a known name
CREATE VIEW mart.outlet_names AS
WITH names AS (
    SELECT 1 AS name_rank, id AS outlet_id, name AS outlet_name FROM main.outlets
    UNION ALL
    SELECT 2 AS name_rank, outlet_id, outlet_name FROM main.product_listings
    UNION ALL
    SELECT 3 AS name_rank, outlet_id, outlet_name FROM main.outlet_listings
    UNION ALL
    SELECT 4 AS name_rank, outlet_id, outlet_name FROM main.order_items
    UNION ALL
    SELECT 5 AS name_rank, outlet_id, outlet_name FROM main.order_line_items
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
GROUP BY outlet_id;

COMMENT ON VIEW mart.outlet_names IS 'Names of outlets, one row per outlet whose name a table contains. Other views and the queries take the name of an outlet from here if a row lacks it.';
COMMENT ON COLUMN mart.outlet_names.outlet_id IS 'Id of the outlet: outlets.id.'; -- VARCHAR
COMMENT ON COLUMN mart.outlet_names.outlet_name IS 'Name of the outlet: from outlets, else from product_listings, outlet_listings, or order_items and order_line_items. If a table contains several names, the first by alphabet.'; -- VARCHAR
