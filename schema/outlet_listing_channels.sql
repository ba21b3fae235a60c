-- Channels of an outlet listing: one row per channel. Key: outlet_listing_id, position.
-- An item keeps its position between nights if these columns are equal: channel_type, placement_type.
CREATE TABLE outlet_listing_channels (
    outlet_listing_id      VARCHAR NOT NULL, -- field 1, references outlet_listings.id
    position               BIGINT NOT NULL,  -- field 2
    channel_type           VARCHAR,          -- field 3
    placement_type         VARCHAR,          -- field 4
    is_do_follow           BOOLEAN,          -- field 5
    domain_authority       BIGINT,           -- field 6
    domain_ranking         BIGINT,           -- field 7
    disclaimer_name        VARCHAR,          -- field 8
    disclaimer_description VARCHAR,          -- field 9
    extra                  JSON              -- field 10
);

COMMENT ON TABLE outlet_listing_channels IS 'Channel summaries of an outlet listing, one row per channel. A summary has no id.';
COMMENT ON COLUMN outlet_listing_channels.outlet_listing_id IS 'Id of the listing: outlet_listings.id.';
COMMENT ON COLUMN outlet_listing_channels.position IS 'Number of the channel in the listing, counted from 1. A channel with the same types keeps its number when the list comes in another order.';
COMMENT ON COLUMN outlet_listing_channels.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.2 OutletChannelSummary.channel_type.';
COMMENT ON COLUMN outlet_listing_channels.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.2 OutletChannelSummary.placement_type.';
COMMENT ON COLUMN outlet_listing_channels.is_do_follow IS 'Whether links carry search engine credit (do-follow). Spec 2.2 OutletChannelSummary.is_do_follow.';
COMMENT ON COLUMN outlet_listing_channels.domain_authority IS 'Domain authority score of the channel, a whole number. Spec 2.2 OutletChannelSummary.domain_authority.';
COMMENT ON COLUMN outlet_listing_channels.domain_ranking IS 'Domain ranking score of the channel, a whole number. Spec 2.2 OutletChannelSummary.domain_ranking.';
COMMENT ON COLUMN outlet_listing_channels.disclaimer_name IS 'Name of the disclaimer that applies. Spec 2.2 OutletChannelSummary.disclaimer_name.';
COMMENT ON COLUMN outlet_listing_channels.disclaimer_description IS 'Text of the disclaimer that applies. Spec 2.2 OutletChannelSummary.disclaimer_description.';
COMMENT ON COLUMN outlet_listing_channels.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
