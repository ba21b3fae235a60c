-- Example links of a product: one row per link. Key: product_id, position.
-- An item keeps its position between nights if these columns are equal: url.
CREATE TABLE product_example_links (
    product_id VARCHAR NOT NULL, -- field 1, references products.id
    position   BIGINT NOT NULL,  -- field 2
    url        VARCHAR,          -- field 3
    extra      JSON              -- field 4
);

COMMENT ON TABLE product_example_links IS 'Example links of a product, one row per link.';
COMMENT ON COLUMN product_example_links.product_id IS 'Id of the product: products.id.';
COMMENT ON COLUMN product_example_links.position IS 'Number of the link in the product, counted from 1. A link with the same url keeps its number when the list comes in another order.';
COMMENT ON COLUMN product_example_links.url IS 'Address of the link, or the string itself if the list contains plain strings. Spec 2.3 Product.example_links.';
COMMENT ON COLUMN product_example_links.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
