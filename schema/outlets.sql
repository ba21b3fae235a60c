-- Outlets in full, from GET /outlets/{outlet_id}. Key: id. Channels are in outlet_channels,
-- tags in outlet_tags.
CREATE TABLE outlets (
    id          VARCHAR NOT NULL, -- field 1
    name        VARCHAR,          -- field 2
    description VARCHAR,          -- field 3
    website_url VARCHAR,          -- field 4
    logo        VARCHAR,          -- field 5
    country     VARCHAR,          -- field 6
    state       VARCHAR,          -- field 7
    city        VARCHAR,          -- field 8
    is_indexed  BOOLEAN,          -- field 9
    created_at  TIMESTAMPTZ,      -- field 10
    updated_at  TIMESTAMPTZ,      -- field 11
    extra       JSON              -- field 12
);

COMMENT ON TABLE outlets IS 'Publications and channels, one row per outlet that a listing or an order item names. From GET /outlets/{outlet_id}.';
COMMENT ON COLUMN outlets.id IS 'Id of the outlet. Spec 2.2 Outlet.id.';
COMMENT ON COLUMN outlets.name IS 'Name of the outlet. Spec 2.2 Outlet.name.';
COMMENT ON COLUMN outlets.description IS 'Description of the outlet. Spec 2.2 Outlet.description.';
COMMENT ON COLUMN outlets.website_url IS 'Website of the outlet. Spec 2.2 Outlet.website_url.';
COMMENT ON COLUMN outlets.logo IS 'Address of the logo of the outlet. Spec 2.2 Outlet.logo.';
COMMENT ON COLUMN outlets.country IS 'Country of the outlet. Spec 2.2 Outlet.country.';
COMMENT ON COLUMN outlets.state IS 'State or region of the outlet. Spec 2.2 Outlet.state.';
COMMENT ON COLUMN outlets.city IS 'City of the outlet. Spec 2.2 Outlet.city.';
COMMENT ON COLUMN outlets.is_indexed IS 'Whether search engines index the outlet. Spec 2.2 Outlet.is_indexed.';
COMMENT ON COLUMN outlets.created_at IS 'When the record was created, UTC. Spec 2.2 Outlet.created_at.';
COMMENT ON COLUMN outlets.updated_at IS 'When the record was last changed, UTC. Spec 2.2 Outlet.updated_at.';
COMMENT ON COLUMN outlets.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
