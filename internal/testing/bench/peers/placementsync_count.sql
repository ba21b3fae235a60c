-- Counts the rows loaded by this program. The columns of the result are the numbers of tables,
-- of rows in all tables, of records, and of items in the lists prices, tags, example_links and includes.
-- The tables in the schemas past and meta are not counted.
SELECT 5, listings.n + prices.n + tags.n + links.n + includes.n,
    listings.n, prices.n, tags.n, links.n, includes.n
FROM (SELECT count(*) AS n FROM product_listings) AS listings,
    (SELECT count(*) AS n FROM product_listing_prices) AS prices,
    (SELECT count(*) AS n FROM product_listing_tags) AS tags,
    (SELECT count(*) AS n FROM product_listing_example_links) AS links,
    (SELECT count(*) AS n FROM product_listing_includes) AS includes;
