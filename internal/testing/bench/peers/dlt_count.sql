-- Counts the records loaded by dlt: the numbers of listings, and of items in the lists prices, tags,
-- example_links and includes.
SELECT
    (SELECT count(*) FROM listings.product_listings),
    (SELECT count(*) FROM listings.product_listings__prices),
    (SELECT count(*) FROM listings.product_listings__tags),
    (SELECT count(*) FROM listings.product_listings__example_links),
    (SELECT count(*) FROM listings.product_listings__includes);
