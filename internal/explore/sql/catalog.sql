-- The catalog page.

-- name: named_listings
-- main.product_listings. Missing names of outlets are taken from other tables.
SELECT l.* REPLACE (coalesce(l.outlet_name, n.outlet_name) AS outlet_name)
FROM main.product_listings AS l
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id;
