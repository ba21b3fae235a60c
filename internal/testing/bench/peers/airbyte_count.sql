-- Counts the rows loaded by PyAirbyte: tables, rows of all tables, records, and items of the
-- four lists of records: prices, tags, example links and includes.
-- The tables of streams and states that PyAirbyte adds are not counted.
SELECT 1, count(*), count(*), sum(json_array_length(prices)), sum(json_array_length(tags)),
    sum(json_array_length(example_links)), sum(json_array_length(includes))
FROM listings.product_listings;
