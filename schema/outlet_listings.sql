-- The catalog by outlet, from GET /outlets. Key: id. Prices, channels and tags are in the
-- tables outlet_listing_prices, _channels and _tags.
CREATE TABLE outlet_listings (
    id                VARCHAR NOT NULL, -- field 1
    outlet_id         VARCHAR,          -- field 2, references outlets.id
    name              VARCHAR,          -- field 3
    description       VARCHAR,          -- field 4
    requirements      VARCHAR,          -- field 5
    min_delivery_days BIGINT,           -- field 6
    max_delivery_days BIGINT,           -- field 7
    is_featured       BOOLEAN,          -- field 8
    created_at        TIMESTAMPTZ,      -- field 9
    outlet_name       VARCHAR,          -- field 10
    website_url       VARCHAR,          -- field 11
    logo              VARCHAR,          -- field 12
    city              VARCHAR,          -- field 13
    state             VARCHAR,          -- field 14
    country           VARCHAR,          -- field 15
    extra             JSON              -- field 16
);

COMMENT ON TABLE outlet_listings IS 'Purchasable placements of the outlet catalog, one row per product. From GET /outlets.';
COMMENT ON COLUMN outlet_listings.id IS 'Id of the product, as checkout expects it; not the id of an outlet. Spec 2.2 OutletListing.id.';
COMMENT ON COLUMN outlet_listings.outlet_id IS 'Id of the outlet: outlets.id. Spec 2.2 OutletListing.outlet_id.';
COMMENT ON COLUMN outlet_listings.name IS 'Name of the placement. Spec 2.2 OutletListing.name.';
COMMENT ON COLUMN outlet_listings.description IS 'Description for buyers. Spec 2.2 OutletListing.description.';
COMMENT ON COLUMN outlet_listings.requirements IS 'Requirements of the outlet for an article. Spec 2.2 OutletListing.requirements.';
COMMENT ON COLUMN outlet_listings.min_delivery_days IS 'Shortest time to delivery, in days. Spec 2.2 OutletListing.min_delivery_days.';
COMMENT ON COLUMN outlet_listings.max_delivery_days IS 'Longest time to delivery, in days. Spec 2.2 OutletListing.max_delivery_days.';
COMMENT ON COLUMN outlet_listings.is_featured IS 'Whether the service features the listing. Spec 2.2 OutletListing.is_featured.';
COMMENT ON COLUMN outlet_listings.created_at IS 'When the listing was created, UTC. Spec 2.2 OutletListing.created_at.';
COMMENT ON COLUMN outlet_listings.outlet_name IS 'Name of the outlet. Spec 2.2 OutletListing.outlet_name.';
COMMENT ON COLUMN outlet_listings.website_url IS 'Website of the outlet. Spec 2.2 OutletListing.website_url.';
COMMENT ON COLUMN outlet_listings.logo IS 'Address of the logo of the outlet. Spec 2.2 OutletListing.logo.';
COMMENT ON COLUMN outlet_listings.city IS 'City of the outlet. Spec 2.2 OutletListing.city.';
COMMENT ON COLUMN outlet_listings.state IS 'State or region of the outlet. Spec 2.2 OutletListing.state.';
COMMENT ON COLUMN outlet_listings.country IS 'Country of the outlet. Spec 2.2 OutletListing.country.';
COMMENT ON COLUMN outlet_listings.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
