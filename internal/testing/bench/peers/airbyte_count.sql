-- Counts the rows loaded by PyAirbyte. The columns of the result are the numbers of tables,
-- of rows in all tables, of records, and of items in the lists prices, tags, example_links and includes.
-- PyAirbyte stores the lists as JSON in the table of the records. Its own tables are not counted.
SELECT 1, count(*), count(*), sum(json_array_length(prices)), sum(json_array_length(tags)),
    sum(json_array_length(example_links)), sum(json_array_length(includes))
FROM listings.product_listings;
