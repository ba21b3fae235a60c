-- Placements included in a product listing, one row each. Key: product_listing_id,
-- position.
-- An item keeps its position between nights if these columns are equal: channel_type, placement_type.
CREATE TABLE product_listing_includes (
    product_listing_id VARCHAR NOT NULL, -- field 1, references product_listings.id
    position           BIGINT NOT NULL,  -- field 2
    channel_type       VARCHAR,          -- field 3
    placement_type     VARCHAR,          -- field 4
    extra              JSON              -- field 5
);

COMMENT ON TABLE product_listing_includes IS 'Placements that a product listing includes, one row each. An empty list and null have no rows. Spec 2.3 ProductListing.includes.';
COMMENT ON COLUMN product_listing_includes.product_listing_id IS 'Id of the listing: product_listings.id.';
COMMENT ON COLUMN product_listing_includes.position IS 'Number of the placement in the listing, counted from 1. A placement with the same types keeps its number when the list comes in another order.';
COMMENT ON COLUMN product_listing_includes.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.channel_type.';
COMMENT ON COLUMN product_listing_includes.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.placement_type.';
COMMENT ON COLUMN product_listing_includes.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
