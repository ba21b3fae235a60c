-- Tags of a product listing: one row per tag. Key: product_listing_id, position.
-- An item keeps its position between nights if these columns are equal: name.
CREATE TABLE product_listing_tags (
    product_listing_id VARCHAR NOT NULL, -- field 1, references product_listings.id
    position           BIGINT NOT NULL,  -- field 2
    name               VARCHAR,          -- field 3, references tags.name
    extra              JSON              -- field 4
);

COMMENT ON TABLE product_listing_tags IS 'Tags of a product listing, one row per tag.';
COMMENT ON COLUMN product_listing_tags.product_listing_id IS 'Id of the listing: product_listings.id.';
COMMENT ON COLUMN product_listing_tags.position IS 'Number of the tag in the listing, counted from 1. A tag with the same name keeps its number when the list comes in another order.';
COMMENT ON COLUMN product_listing_tags.name IS 'Name of the tag, or the string itself if the list contains plain strings. Spec 2.2 Tag.name.';
COMMENT ON COLUMN product_listing_tags.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
