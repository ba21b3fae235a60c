-- Placements included in a line item, one row each. Key: order_id, line_position,
-- position.
-- An item keeps its position between nights if these columns are equal: channel_type, placement_type.
CREATE TABLE order_line_item_includes (
    order_id       VARCHAR NOT NULL, -- field 1, references orders.id
    line_position  BIGINT NOT NULL,  -- field 2
    position       BIGINT NOT NULL,  -- field 3
    channel_type   VARCHAR,          -- field 4
    placement_type VARCHAR,          -- field 5
    extra          JSON              -- field 6
);

COMMENT ON TABLE order_line_item_includes IS 'Placements that a line item includes, one row each. An empty list and null have no rows. Spec 2.4 LineItem.includes.';
COMMENT ON COLUMN order_line_item_includes.order_id IS 'Id of the order: orders.id.';
COMMENT ON COLUMN order_line_item_includes.line_position IS 'Position of the line item: order_line_items.position.';
COMMENT ON COLUMN order_line_item_includes.position IS 'Number of the placement in the line item, counted from 1. A placement with the same types keeps its number when the list comes in another order.';
COMMENT ON COLUMN order_line_item_includes.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.channel_type.';
COMMENT ON COLUMN order_line_item_includes.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.placement_type.';
COMMENT ON COLUMN order_line_item_includes.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
