-- What dlt has loaded: tables, rows of all tables, and the records and list items in
-- them. Its own tables of loads and states are left out.
SELECT
    (SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'listings' AND table_name NOT LIKE '\_dlt%' ESCAPE '\'),
    (SELECT sum(estimated_size) FROM duckdb_tables() WHERE schema_name = 'listings' AND table_name NOT LIKE '\_dlt%' ESCAPE '\'),
    (SELECT count(*) FROM listings.product_listings),
    (SELECT count(*) FROM listings.product_listings__prices),
    (SELECT count(*) FROM listings.product_listings__tags),
    (SELECT count(*) FROM listings.product_listings__example_links),
    (SELECT count(*) FROM listings.product_listings__includes);
