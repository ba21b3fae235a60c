-- Placements included in an order item of a profile, one row each. Key:
-- profile_order_item_id, position.
-- An item keeps its position between nights if these columns are equal: channel_type, placement_type.
CREATE TABLE profile_order_item_includes (
    profile_order_item_id VARCHAR NOT NULL, -- field 1, references profile_order_items.id
    position              BIGINT NOT NULL,  -- field 2
    channel_type          VARCHAR,          -- field 3
    placement_type        VARCHAR,          -- field 4
    extra                 JSON              -- field 5
);

COMMENT ON TABLE profile_order_item_includes IS 'Placements that an order item of a profile includes, one row each. An empty list and null have no rows. Spec 2.4 ProfileOrderItem.includes.';
COMMENT ON COLUMN profile_order_item_includes.profile_order_item_id IS 'Id of the order item: profile_order_items.id.';
COMMENT ON COLUMN profile_order_item_includes.position IS 'Number of the placement in the order item, counted from 1. A placement with the same types keeps its number when the list comes in another order.';
COMMENT ON COLUMN profile_order_item_includes.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.channel_type.';
COMMENT ON COLUMN profile_order_item_includes.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.placement_type.';
COMMENT ON COLUMN profile_order_item_includes.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
