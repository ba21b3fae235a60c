-- Tags of a product listing: one row per tag. Key: product_listing_id, position.
CREATE TABLE product_listing_tags (
    product_listing_id VARCHAR NOT NULL, -- field 1, references product_listings.id
    position           BIGINT NOT NULL,  -- field 2
    name               VARCHAR,          -- field 3, references tags.name
    extra              JSON              -- field 4
);

COMMENT ON TABLE product_listing_tags IS 'Tags of a product listing, one row per tag, in the order of the response.';
COMMENT ON COLUMN product_listing_tags.product_listing_id IS 'Id of the listing: product_listings.id.';
COMMENT ON COLUMN product_listing_tags.position IS 'Position in the list of tags, counted from 1.';
COMMENT ON COLUMN product_listing_tags.name IS 'Name of the tag, or the string itself if the list contains plain strings. Spec 2.2 Tag.name.';
COMMENT ON COLUMN product_listing_tags.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
