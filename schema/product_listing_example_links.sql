-- Example links of a product listing: one row per link. Key: product_listing_id, position.
-- An item keeps its position between nights if these columns are equal: url.
CREATE TABLE product_listing_example_links (
    product_listing_id VARCHAR NOT NULL, -- field 1, references product_listings.id
    position           BIGINT NOT NULL,  -- field 2
    url                VARCHAR,          -- field 3
    extra              JSON              -- field 4
);

COMMENT ON TABLE product_listing_example_links IS 'Example links of a product listing, one row per link.';
COMMENT ON COLUMN product_listing_example_links.product_listing_id IS 'Id of the listing: product_listings.id.';
COMMENT ON COLUMN product_listing_example_links.position IS 'Number of the link in the listing, counted from 1. A link with the same url keeps its number when the list comes in another order.';
COMMENT ON COLUMN product_listing_example_links.url IS 'Address of the link, or the string itself if the list contains plain strings. Spec 2.3 ProductListing.example_links.';
COMMENT ON COLUMN product_listing_example_links.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
