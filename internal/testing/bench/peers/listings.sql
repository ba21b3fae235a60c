-- Loads pages into one table, and writes it to one Parquet file. listings.sh has downloaded the
-- pages. The types are given, so that DuckDB does not read the pages twice to detect the types.
SET TimeZone = 'UTC';

CREATE TABLE product_listings AS
SELECT unnest(records, max_depth := 2)
FROM read_json('pages/*.json', format = 'unstructured', columns = {records: 'STRUCT(
    id VARCHAR, name VARCHAR, description VARCHAR, requirements VARCHAR,
    min_delivery_days BIGINT, max_delivery_days BIGINT, is_featured BOOLEAN, example_links JSON[],
    created_at TIMESTAMPTZ, outlet_id VARCHAR, outlet_name VARCHAR, website_url VARCHAR, logo VARCHAR,
    city VARCHAR, state VARCHAR, country VARCHAR, is_indexed BOOLEAN, channel_id VARCHAR,
    channel_type VARCHAR, is_do_follow BOOLEAN, domain_authority BIGINT, domain_ranking BIGINT,
    disclaimer JSON, tags JSON[], placement_type VARCHAR,
    prices STRUCT(unit_amount DECIMAL(18,6), currency VARCHAR, pricing_tier VARCHAR)[],
    includes STRUCT(channel_type VARCHAR, placement_type VARCHAR)[])[]'});
CHECKPOINT;
COPY product_listings TO 'product_listings.parquet' (FORMAT parquet, COMPRESSION zstd);
