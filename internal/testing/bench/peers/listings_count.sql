-- What the script has loaded: tables, rows of all tables, and the records and list items
-- in them.
SELECT 1, count(*), count(*), sum(len(prices)), sum(len(tags)), sum(len(example_links)), sum(len(includes))
FROM product_listings;
