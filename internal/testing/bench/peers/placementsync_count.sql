-- What this program has loaded: tables, rows of all tables, and the records and list
-- items in them. Its history, ledger and evidence are left out.
SELECT 5, a.n + b.n + c.n + d.n + e.n, a.n, b.n, c.n, d.n, e.n
FROM (SELECT count(*) AS n FROM product_listings) a,
    (SELECT count(*) AS n FROM product_listing_prices) b,
    (SELECT count(*) AS n FROM product_listing_tags) c,
    (SELECT count(*) AS n FROM product_listing_example_links) d,
    (SELECT count(*) AS n FROM product_listing_includes) e;
