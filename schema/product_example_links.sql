-- Example links of a product: one row per link. Key: product_id, position.
CREATE TABLE product_example_links (
    product_id VARCHAR NOT NULL, -- field 1, references products.id
    position   BIGINT NOT NULL,  -- field 2
    url        VARCHAR,          -- field 3
    extra      JSON              -- field 4
);

COMMENT ON TABLE product_example_links IS 'Example links of a product, one row per link, in the order of the response.';
COMMENT ON COLUMN product_example_links.product_id IS 'Id of the product: products.id.';
COMMENT ON COLUMN product_example_links.position IS 'Position in the list of links, counted from 1.';
COMMENT ON COLUMN product_example_links.url IS 'Address of the link, or the string itself if the list contains plain strings. Spec 2.3 Product.example_links.';
COMMENT ON COLUMN product_example_links.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
