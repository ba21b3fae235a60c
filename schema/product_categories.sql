-- Product types with their counts, from GET /products/categories. Key: type.
CREATE TABLE product_categories (
    type  VARCHAR NOT NULL, -- field 1
    count BIGINT,           -- field 2
    extra JSON              -- field 3
);

COMMENT ON TABLE product_categories IS 'Product types with the number of their products, one row each. From GET /products/categories.';
COMMENT ON COLUMN product_categories.type IS 'Product type. Spec 2.3 ProductCategoryCount.type.';
COMMENT ON COLUMN product_categories.count IS 'Number of products of the type. Spec 2.3 ProductCategoryCount.count.';
COMMENT ON COLUMN product_categories.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
