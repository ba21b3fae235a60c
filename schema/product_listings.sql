-- The catalog by product, from GET /products/listings. Key: id. Prices, included placements, tags
-- and example links are in the tables product_listing_prices, _includes, _tags and
-- _example_links.
CREATE TABLE product_listings (
    id                     VARCHAR NOT NULL, -- field 1
    name                   VARCHAR,          -- field 2
    description            VARCHAR,          -- field 3
    requirements           VARCHAR,          -- field 4
    min_delivery_days      BIGINT,           -- field 5
    max_delivery_days      BIGINT,           -- field 6
    is_featured            BOOLEAN,          -- field 7
    created_at             TIMESTAMPTZ,      -- field 8
    outlet_id              VARCHAR,          -- field 9, references outlets.id
    outlet_name            VARCHAR,          -- field 10
    website_url            VARCHAR,          -- field 11
    logo                   VARCHAR,          -- field 12
    country                VARCHAR,          -- field 13
    state                  VARCHAR,          -- field 14
    city                   VARCHAR,          -- field 15
    is_indexed             BOOLEAN,          -- field 16
    channel_id             VARCHAR,          -- field 17, references outlet_channels.id
    channel_type           VARCHAR,          -- field 18
    placement_type         VARCHAR,          -- field 19
    domain_authority       BIGINT,           -- field 20
    domain_ranking         BIGINT,           -- field 21
    is_do_follow           BOOLEAN,          -- field 22
    disclaimer             VARCHAR,          -- field 23
    disclaimer_id          VARCHAR,          -- field 24, references disclaimers.id
    disclaimer_description VARCHAR,          -- field 25
    extra                  JSON              -- field 26
);

COMMENT ON TABLE product_listings IS 'Purchasable placements with their outlet and channel, one row per product. From GET /products/listings.';
COMMENT ON COLUMN product_listings.id IS 'Id of the product. Spec 2.3 ProductListing.id.';
COMMENT ON COLUMN product_listings.name IS 'Name of the placement. Spec 2.3 ProductListing.name.';
COMMENT ON COLUMN product_listings.description IS 'Description for buyers. Spec 2.3 ProductListing.description.';
COMMENT ON COLUMN product_listings.requirements IS 'Requirements of the outlet for an article. Spec 2.3 ProductListing.requirements.';
COMMENT ON COLUMN product_listings.min_delivery_days IS 'Shortest time to delivery, in days. Spec 2.3 ProductListing.min_delivery_days.';
COMMENT ON COLUMN product_listings.max_delivery_days IS 'Longest time to delivery, in days. Spec 2.3 ProductListing.max_delivery_days.';
COMMENT ON COLUMN product_listings.is_featured IS 'Whether the service features the listing. Spec 2.3 ProductListing.is_featured.';
COMMENT ON COLUMN product_listings.created_at IS 'When the listing was created, UTC. Spec 2.3 ProductListing.created_at.';
COMMENT ON COLUMN product_listings.outlet_id IS 'Id of the outlet: outlets.id. Spec 2.3 ProductListing.outlet_id.';
COMMENT ON COLUMN product_listings.outlet_name IS 'Name of the outlet. Spec 2.3 ProductListing.outlet_name.';
COMMENT ON COLUMN product_listings.website_url IS 'Website of the outlet. Spec 2.3 ProductListing.website_url.';
COMMENT ON COLUMN product_listings.logo IS 'Address of the logo of the outlet. Spec 2.3 ProductListing.logo.';
COMMENT ON COLUMN product_listings.country IS 'Country of the outlet. Spec 2.3 ProductListing.country.';
COMMENT ON COLUMN product_listings.state IS 'State or region of the outlet. Spec 2.3 ProductListing.state.';
COMMENT ON COLUMN product_listings.city IS 'City of the outlet. Spec 2.3 ProductListing.city.';
COMMENT ON COLUMN product_listings.is_indexed IS 'Whether search engines index the outlet. Spec 2.3 ProductListing.is_indexed.';
COMMENT ON COLUMN product_listings.channel_id IS 'Id of the channel: outlet_channels.id. Spec 2.3 ProductListing.channel_id.';
COMMENT ON COLUMN product_listings.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.3 ProductListing.channel_type.';
COMMENT ON COLUMN product_listings.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.3 ProductListing.placement_type.';
COMMENT ON COLUMN product_listings.domain_authority IS 'Domain authority score of the channel, a whole number. Spec 2.3 ProductListing.domain_authority.';
COMMENT ON COLUMN product_listings.domain_ranking IS 'Domain ranking score of the channel, a whole number. Spec 2.3 ProductListing.domain_ranking.';
COMMENT ON COLUMN product_listings.is_do_follow IS 'Whether links carry search engine credit (do-follow). Spec 2.3 ProductListing.is_do_follow.';
COMMENT ON COLUMN product_listings.disclaimer IS 'Disclaimer that applies: its text, or its name if the service sends an object. Spec 2.3 ProductListing.disclaimer.';
COMMENT ON COLUMN product_listings.disclaimer_id IS 'Id of the disclaimer; NULL if the service sends only a text. Spec 2.3 ProductListing.disclaimer.id.';
COMMENT ON COLUMN product_listings.disclaimer_description IS 'Text of the disclaimer, if the service sends an object. Otherwise the text is in the column disclaimer. Spec 2.3 ProductListing.disclaimer.description.';
COMMENT ON COLUMN product_listings.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
