-- Links between profiles and orders, from GET /profiles/{id}/orders. Key: profile_id,
-- order_id.
CREATE TABLE profile_orders (
    profile_id VARCHAR NOT NULL, -- field 1, references profiles.id
    order_id   VARCHAR NOT NULL  -- field 2, references orders.id
);

COMMENT ON TABLE profile_orders IS 'Orders of a profile, one row per profile and order. The other columns of an order are in orders. From GET /profiles/{id}/orders.';
COMMENT ON COLUMN profile_orders.profile_id IS 'Id of the profile: profiles.id. Spec 4.2 GET /profiles/{id}/orders.';
COMMENT ON COLUMN profile_orders.order_id IS 'Id of the order: orders.id. Spec 2.4 Order.id.';
