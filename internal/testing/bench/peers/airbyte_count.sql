-- What PyAirbyte has loaded: tables, rows of all tables, and the records and list items
-- in them. Its own tables of streams and states are left out.
SELECT 1, count(*), count(*), sum(json_array_length(prices)), sum(json_array_length(tags)),
    sum(json_array_length(example_links)), sum(json_array_length(includes))
FROM listings.product_listings;
