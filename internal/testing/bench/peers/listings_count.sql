-- Counts the rows loaded by listings.sh. The columns of the result are: tables, rows of all
-- tables, records, and items of the four lists prices, tags, example_links and includes.
SELECT 1, count(*), count(*), sum(len(prices)), sum(len(tags)), sum(len(example_links)), sum(len(includes))
FROM product_listings;
