-- Counts the rows loaded by this program. The columns of the result are: tables, rows of all
-- tables, records, and items of the four lists prices, tags, example_links and includes.
-- The tables of history and meta are not counted.
SELECT 5, a.n + b.n + c.n + d.n + e.n, a.n, b.n, c.n, d.n, e.n
FROM (SELECT count(*) AS n FROM product_listings) a,
    (SELECT count(*) AS n FROM product_listing_prices) b,
    (SELECT count(*) AS n FROM product_listing_tags) c,
    (SELECT count(*) AS n FROM product_listing_example_links) d,
    (SELECT count(*) AS n FROM product_listing_includes) e;
