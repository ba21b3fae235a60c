-- Counts the rows loaded by dlt: tables, rows of all tables, records, and items of the
-- four lists of records: prices, tags, example links and includes.
-- The tables of loads and states that dlt adds are not counted.
SELECT
    (SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'listings' AND table_name NOT LIKE '\_dlt%' ESCAPE '\'),
    (SELECT sum(estimated_size) FROM duckdb_tables() WHERE schema_name = 'listings' AND table_name NOT LIKE '\_dlt%' ESCAPE '\'),
    (SELECT count(*) FROM listings.product_listings),
    (SELECT count(*) FROM listings.product_listings__prices),
    (SELECT count(*) FROM listings.product_listings__tags),
    (SELECT count(*) FROM listings.product_listings__example_links),
    (SELECT count(*) FROM listings.product_listings__includes);
