-- Counts the records loaded by this program: the numbers of listings, and of items in the lists prices, tags,
-- example_links and includes.
SELECT
    (SELECT count(*) FROM product_listings),
    (SELECT count(*) FROM product_listing_prices),
    (SELECT count(*) FROM product_listing_tags),
    (SELECT count(*) FROM product_listing_example_links),
    (SELECT count(*) FROM product_listing_includes);
