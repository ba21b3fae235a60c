-- Counts the records loaded by listings.sh: the numbers of listings, and of items in the lists prices, tags,
-- example_links and includes.
SELECT count(*), sum(len(prices)), sum(len(tags)), sum(len(example_links)), sum(len(includes))
FROM product_listings;
