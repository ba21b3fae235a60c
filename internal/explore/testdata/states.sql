-- More states than the catalog page counts. Each state has two listings, except for the last state
-- and NULL, which have one.
INSERT INTO main.product_listings (id, name, state) SELECT 's' || i, 'Listing ' || i, 'S' || ceil(i / 2)::INT FROM range(1, 298) AS t(i);
INSERT INTO main.product_listings (id, name) VALUES ('t', 'Stateless');
