-- Example links of a product listing: one row per link. Key: product_listing_id, position.
CREATE TABLE product_listing_example_links (
    product_listing_id VARCHAR NOT NULL, -- field 1
    position           BIGINT NOT NULL,  -- field 2
    url                VARCHAR,          -- field 3
    extra              JSON              -- field 4
);

COMMENT ON TABLE product_listing_example_links IS 'Example links of a product listing, one row per link, in the order of the answer.';
COMMENT ON COLUMN product_listing_example_links.product_listing_id IS 'Id of the listing: product_listings.id.';
COMMENT ON COLUMN product_listing_example_links.position IS 'Place in the list of links, counted from 1.';
COMMENT ON COLUMN product_listing_example_links.url IS 'Address of the link; the item itself where it is a bare text. Spec 2.3 ProductListing.example_links (item type not shown).';
COMMENT ON COLUMN product_listing_example_links.extra IS 'Fields that this schema does not know, as one JSON object; NULL when there are none. Spec 2 (conventions).';
