-- Products of an outlet, from GET /outlets/{id}/products. Key: outlet_id, product_id. The
-- spec shows no record type: fields of a product are typed, all others are in extra.
CREATE TABLE outlet_products (
    outlet_id          VARCHAR NOT NULL,
    product_id         VARCHAR NOT NULL,
    name               VARCHAR,
    description        VARCHAR,
    requirements       VARCHAR,
    min_delivery_days  BIGINT,
    max_delivery_days  BIGINT,
    is_featured        BOOLEAN,
    active             BOOLEAN,
    image              VARCHAR,
    logo               VARCHAR,
    example_screenshot VARCHAR,
    type_id            VARCHAR,
    created_at         TIMESTAMPTZ,
    updated_at         TIMESTAMPTZ,
    deleted_at         TIMESTAMPTZ,
    extra              JSON
);

COMMENT ON TABLE outlet_products IS 'Products of an outlet, one row per outlet and product. From GET /outlets/{id}/products.';
COMMENT ON COLUMN outlet_products.outlet_id IS 'Id of the outlet: outlets.id. Spec 4.2 GET /outlets/{id}/products.';
COMMENT ON COLUMN outlet_products.product_id IS 'Id of the product: products.id. Spec 2.3 Product.id.';
COMMENT ON COLUMN outlet_products.name IS 'Name of the product. Spec 2.3 Product.name.';
COMMENT ON COLUMN outlet_products.description IS 'Description for buyers. Spec 2.3 Product.description.';
COMMENT ON COLUMN outlet_products.requirements IS 'What the outlet asks of a text. Spec 2.3 Product.requirements.';
COMMENT ON COLUMN outlet_products.min_delivery_days IS 'Shortest time to delivery, in days. Spec 2.3 Product.min_delivery_days.';
COMMENT ON COLUMN outlet_products.max_delivery_days IS 'Longest time to delivery, in days. Spec 2.3 Product.max_delivery_days.';
COMMENT ON COLUMN outlet_products.is_featured IS 'Whether the service features the product. Spec 2.3 Product.is_featured.';
COMMENT ON COLUMN outlet_products.active IS 'Whether the product is on sale. Spec 2.3 Product.active.';
COMMENT ON COLUMN outlet_products.image IS 'Address of the image. Spec 2.3 Product.image.';
COMMENT ON COLUMN outlet_products.logo IS 'Address of the logo. Spec 2.3 Product.logo.';
COMMENT ON COLUMN outlet_products.example_screenshot IS 'Address of an example. Spec 2.3 Product.example_screenshot.';
COMMENT ON COLUMN outlet_products.type_id IS 'Id of the product type. Spec 2.3 Product.type_id.';
COMMENT ON COLUMN outlet_products.created_at IS 'When the record was created, UTC. Spec 2.3 Product.created_at.';
COMMENT ON COLUMN outlet_products.updated_at IS 'When the record was last changed, UTC. Spec 2.3 Product.updated_at.';
COMMENT ON COLUMN outlet_products.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not. Spec 2.3 Product.deleted_at.';
COMMENT ON COLUMN outlet_products.extra IS 'Fields that this schema does not know, as one JSON object; NULL when there are none. Spec 2 (conventions).';
