-- Counts the rows loaded by listings.sh. The columns of the result are the numbers of tables,
-- of rows in all tables, of records, and of items in the lists prices, tags, example_links and includes.
SELECT 1, count(*), count(*), sum(len(prices)), sum(len(tags)), sum(len(example_links)), sum(len(includes))
FROM product_listings;
