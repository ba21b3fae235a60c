-- Products of an outlet, from GET /outlets/{id}/products. Key: outlet_id, product_id. The
-- spec does not describe the record. The fields of Product have columns; all others are in extra.
CREATE TABLE outlet_products (
    outlet_id          VARCHAR NOT NULL, -- field 1, references outlets.id
    product_id         VARCHAR NOT NULL, -- field 2, references products.id
    name               VARCHAR,          -- field 3
    description        VARCHAR,          -- field 4
    requirements       VARCHAR,          -- field 5
    min_delivery_days  BIGINT,           -- field 6
    max_delivery_days  BIGINT,           -- field 7
    is_featured        BOOLEAN,          -- field 8
    active             BOOLEAN,          -- field 9
    image              VARCHAR,          -- field 10
    logo               VARCHAR,          -- field 11
    example_screenshot VARCHAR,          -- field 12
    type_id            VARCHAR,          -- field 13
    created_at         TIMESTAMPTZ,      -- field 14
    updated_at         TIMESTAMPTZ,      -- field 15
    deleted_at         TIMESTAMPTZ,      -- field 16
    extra              JSON              -- field 17
);

COMMENT ON TABLE outlet_products IS 'Products of an outlet, one row per outlet and product. From GET /outlets/{id}/products.';
COMMENT ON COLUMN outlet_products.outlet_id IS 'Id of the outlet: outlets.id. Spec 4.2 GET /outlets/{id}/products.';
COMMENT ON COLUMN outlet_products.product_id IS 'Id of the product: products.id. Spec 2.3 Product.id.';
COMMENT ON COLUMN outlet_products.name IS 'Name of the product. Spec 2.3 Product.name.';
COMMENT ON COLUMN outlet_products.description IS 'Description for buyers. Spec 2.3 Product.description.';
COMMENT ON COLUMN outlet_products.requirements IS 'Requirements of the outlet for an article. Spec 2.3 Product.requirements.';
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
COMMENT ON COLUMN outlet_products.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.3 Product.deleted_at.';
COMMENT ON COLUMN outlet_products.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
