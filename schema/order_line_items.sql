-- Line items of an order. Key: order_id, position, because a line item has no id before the
-- order is paid.
-- An item keeps its position between nights if these columns are equal: id, or else product_id.
CREATE TABLE order_line_items (
    order_id                  VARCHAR NOT NULL, -- field 1, references orders.id
    position                  BIGINT NOT NULL,  -- field 2
    id                        VARCHAR,          -- field 3
    product_id                VARCHAR,          -- field 4, references products.id
    quantity                  BIGINT,           -- field 5
    price                     DECIMAL(18,6),    -- field 6
    is_add_on                 BOOLEAN,          -- field 7
    linked_order_line_item_id VARCHAR,          -- field 8, references order_line_items.id
    name                      VARCHAR,          -- field 9
    product_type_name         VARCHAR,          -- field 10
    type_id                   VARCHAR,          -- field 11
    product_type_prefix       VARCHAR,          -- field 12
    outlet_id                 VARCHAR,          -- field 13, references outlets.id
    outlet_name               VARCHAR,          -- field 14
    outlet_logo               VARCHAR,          -- field 15
    outlet_website_url        VARCHAR,          -- field 16
    created_at                TIMESTAMPTZ,      -- field 17
    updated_at                TIMESTAMPTZ,      -- field 18
    deleted_at                TIMESTAMPTZ,      -- field 19
    extra                     JSON              -- field 20
);

COMMENT ON TABLE order_line_items IS 'Line items of an order, one row per item. From line_items of GET /orders and GET /orders/{order_id}.';
COMMENT ON COLUMN order_line_items.order_id IS 'Id of the order: orders.id; if the item contains no order id, the id of the enclosing order. Spec 2.4 LineItem.order_id.';
COMMENT ON COLUMN order_line_items.position IS 'Number of the line item in the order, counted from 1. A line item with the same id, or else product_id, keeps its number when the list comes in another order.';
COMMENT ON COLUMN order_line_items.id IS 'Id of the line item; NULL before payment. After payment the order item has the same id. Spec 2.4 LineItem.id.';
COMMENT ON COLUMN order_line_items.product_id IS 'Id of the product. Spec 2.4 LineItem.product_id.';
COMMENT ON COLUMN order_line_items.quantity IS 'Number of pieces. Spec 2.4 LineItem.quantity.';
COMMENT ON COLUMN order_line_items.price IS 'Price of the item. The spec names no currency. Spec 2.4 LineItem.price.';
COMMENT ON COLUMN order_line_items.is_add_on IS 'Whether the item is an add-on to another item. Spec 2.4 LineItem.is_add_on.';
COMMENT ON COLUMN order_line_items.linked_order_line_item_id IS 'Id of the line item that an add-on belongs to. Spec 2.4 LineItem.linked_order_line_item_id.';
COMMENT ON COLUMN order_line_items.name IS 'Name of the item. Spec 2.4 LineItem.name.';
COMMENT ON COLUMN order_line_items.product_type_name IS 'Name of the product type. Spec 2.4 LineItem.product_type_name.';
COMMENT ON COLUMN order_line_items.type_id IS 'Id of the product type. Spec 2.4 LineItem.type_id.';
COMMENT ON COLUMN order_line_items.product_type_prefix IS 'Stable identifier of the product type. Spec 2.4 LineItem.product_type_prefix.';
COMMENT ON COLUMN order_line_items.outlet_id IS 'Id of the outlet. Spec 2.4 LineItem.outlet.id.';
COMMENT ON COLUMN order_line_items.outlet_name IS 'Name of the outlet. Spec 2.4 LineItem.outlet.name.';
COMMENT ON COLUMN order_line_items.outlet_logo IS 'Address of the logo of the outlet. Spec 2.4 LineItem.outlet.logo.';
COMMENT ON COLUMN order_line_items.outlet_website_url IS 'Website of the outlet. Spec 2.4 LineItem.outlet.website_url.';
COMMENT ON COLUMN order_line_items.created_at IS 'When the record was created, UTC. Spec 2.4 LineItem.created_at.';
COMMENT ON COLUMN order_line_items.updated_at IS 'When the record was last changed, UTC. Spec 2.4 LineItem.updated_at.';
COMMENT ON COLUMN order_line_items.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.4 LineItem.deleted_at.';
COMMENT ON COLUMN order_line_items.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
