-- Order items of a profile, from GET /profiles/{id}/order-items. Key: id. The included placements are in
-- profile_order_item_includes.
CREATE TABLE profile_order_items (
    id                 VARCHAR NOT NULL, -- field 1
    name               VARCHAR,          -- field 2
    description        VARCHAR,          -- field 3
    is_add_on          BOOLEAN,          -- field 4
    profile_id         VARCHAR,          -- field 5, references profiles.id
    type               VARCHAR,          -- field 6
    campaign_id        VARCHAR,          -- field 7, references campaigns.id
    product_id         VARCHAR,          -- field 8, references products.id
    min_delivery_days  BIGINT,           -- field 9
    max_delivery_days  BIGINT,           -- field 10
    outlet_id          VARCHAR,          -- field 11, references outlets.id
    outlet_name        VARCHAR,          -- field 12
    outlet_logo        VARCHAR,          -- field 13
    outlet_website_url VARCHAR,          -- field 14
    extra              JSON              -- field 15
);

COMMENT ON TABLE profile_order_items IS 'Order items of a profile, one row per item. From GET /profiles/{id}/order-items.';
COMMENT ON COLUMN profile_order_items.id IS 'Id of the order item: order_items.id. Spec 2.4 ProfileOrderItem.id.';
COMMENT ON COLUMN profile_order_items.name IS 'Name of the item. Spec 2.4 ProfileOrderItem.name.';
COMMENT ON COLUMN profile_order_items.description IS 'Description of the item. Spec 2.4 ProfileOrderItem.description.';
COMMENT ON COLUMN profile_order_items.is_add_on IS 'Whether the item is an add-on to another item. Spec 2.4 ProfileOrderItem.is_add_on.';
COMMENT ON COLUMN profile_order_items.profile_id IS 'Id of the profile: profiles.id. If the item contains no profile id, the id in the request. Spec 2.4 ProfileOrderItem.profile_id.';
COMMENT ON COLUMN profile_order_items.type IS 'Type of the item. Spec 2.4 ProfileOrderItem.type.';
COMMENT ON COLUMN profile_order_items.campaign_id IS 'Id of the campaign: campaigns.id; NULL until the item is assigned to a campaign. Spec 2.4 ProfileOrderItem.campaign_id.';
COMMENT ON COLUMN profile_order_items.product_id IS 'Id of the product. Spec 2.4 ProfileOrderItem.product_id.';
COMMENT ON COLUMN profile_order_items.min_delivery_days IS 'Shortest time to delivery, in days. Spec 2.4 ProfileOrderItem.min_delivery_days.';
COMMENT ON COLUMN profile_order_items.max_delivery_days IS 'Longest time to delivery, in days. Spec 2.4 ProfileOrderItem.max_delivery_days.';
COMMENT ON COLUMN profile_order_items.outlet_id IS 'Id of the outlet. Spec 2.4 ProfileOrderItem.outlet.id.';
COMMENT ON COLUMN profile_order_items.outlet_name IS 'Name of the outlet. Spec 2.4 ProfileOrderItem.outlet.name.';
COMMENT ON COLUMN profile_order_items.outlet_logo IS 'Address of the logo of the outlet. Spec 2.4 ProfileOrderItem.outlet.logo.';
COMMENT ON COLUMN profile_order_items.outlet_website_url IS 'Website of the outlet. Spec 2.4 ProfileOrderItem.outlet.website_url.';
COMMENT ON COLUMN profile_order_items.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
