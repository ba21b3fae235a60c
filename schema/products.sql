-- Products in full, from GET /products/{product_id}. Key: id. Prices are in product_prices,
-- example links in product_example_links.
CREATE TABLE products (
    id                 VARCHAR NOT NULL, -- field 1
    name               VARCHAR,          -- field 2
    description        VARCHAR,          -- field 3
    requirements       VARCHAR,          -- field 4
    min_delivery_days  BIGINT,           -- field 5
    max_delivery_days  BIGINT,           -- field 6
    is_featured        BOOLEAN,          -- field 7
    active             BOOLEAN,          -- field 8
    image              VARCHAR,          -- field 9
    logo               VARCHAR,          -- field 10
    example_screenshot VARCHAR,          -- field 11
    type_id            VARCHAR,          -- field 12
    created_at         TIMESTAMPTZ,      -- field 13
    updated_at         TIMESTAMPTZ,      -- field 14
    deleted_at         TIMESTAMPTZ,      -- field 15
    extra              JSON              -- field 16
);

COMMENT ON TABLE products IS 'Products, one row per product that any record names. From GET /products/{product_id}.';
COMMENT ON COLUMN products.id IS 'Id of the product. Spec 2.3 Product.id.';
COMMENT ON COLUMN products.name IS 'Name of the product. Spec 2.3 Product.name.';
COMMENT ON COLUMN products.description IS 'Description for buyers. Spec 2.3 Product.description.';
COMMENT ON COLUMN products.requirements IS 'Requirements of the outlet for an article. Spec 2.3 Product.requirements.';
COMMENT ON COLUMN products.min_delivery_days IS 'Shortest time to delivery, in days. Spec 2.3 Product.min_delivery_days.';
COMMENT ON COLUMN products.max_delivery_days IS 'Longest time to delivery, in days. Spec 2.3 Product.max_delivery_days.';
COMMENT ON COLUMN products.is_featured IS 'Whether the service features the product. Spec 2.3 Product.is_featured.';
COMMENT ON COLUMN products.active IS 'Whether the product is on sale. Spec 2.3 Product.active.';
COMMENT ON COLUMN products.image IS 'Address of the image. Spec 2.3 Product.image.';
COMMENT ON COLUMN products.logo IS 'Address of the logo. Spec 2.3 Product.logo.';
COMMENT ON COLUMN products.example_screenshot IS 'Address of an example. Spec 2.3 Product.example_screenshot.';
COMMENT ON COLUMN products.type_id IS 'Id of the product type. Spec 2.3 Product.type_id.';
COMMENT ON COLUMN products.created_at IS 'When the record was created, UTC. Spec 2.3 Product.created_at.';
COMMENT ON COLUMN products.updated_at IS 'When the record was last changed, UTC. Spec 2.3 Product.updated_at.';
COMMENT ON COLUMN products.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.3 Product.deleted_at.';
COMMENT ON COLUMN products.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
