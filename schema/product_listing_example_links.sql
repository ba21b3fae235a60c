-- Example links of a product listing: one row per link. Key: product_listing_id, position.
CREATE TABLE product_listing_example_links (
    product_listing_id VARCHAR NOT NULL, -- field 1, references product_listings.id
    position           BIGINT NOT NULL,  -- field 2
    url                VARCHAR,          -- field 3
    extra              JSON              -- field 4
);

COMMENT ON TABLE product_listing_example_links IS 'Example links of a product listing, one row per link, in the order of the response.';
COMMENT ON COLUMN product_listing_example_links.product_listing_id IS 'Id of the listing: product_listings.id.';
COMMENT ON COLUMN product_listing_example_links.position IS 'Position in the list of links, counted from 1.';
COMMENT ON COLUMN product_listing_example_links.url IS 'Address of the link, or the string itself if the list contains plain strings. Spec 2.3 ProductListing.example_links.';
COMMENT ON COLUMN product_listing_example_links.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
