-- Counts the rows loaded by dlt. The columns of the result are the numbers of tables,
-- of rows in all tables, of records, and of items in the lists prices, tags, example_links and includes.
-- dlt's own tables, whose names begin with _dlt, are not counted.
SELECT
    (SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'listings' AND table_name NOT LIKE '\_dlt%' ESCAPE '\'),
    (SELECT sum(estimated_size) FROM duckdb_tables() WHERE schema_name = 'listings' AND table_name NOT LIKE '\_dlt%' ESCAPE '\'),
    (SELECT count(*) FROM listings.product_listings),
    (SELECT count(*) FROM listings.product_listings__prices),
    (SELECT count(*) FROM listings.product_listings__tags),
    (SELECT count(*) FROM listings.product_listings__example_links),
    (SELECT count(*) FROM listings.product_listings__includes);
