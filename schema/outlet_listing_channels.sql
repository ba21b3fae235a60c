-- Channels of an outlet listing: one row per channel. Key: outlet_listing_id, position.
CREATE TABLE outlet_listing_channels (
    outlet_listing_id      VARCHAR NOT NULL,
    position               BIGINT NOT NULL,
    channel_type           VARCHAR,
    placement_type         VARCHAR,
    is_do_follow           BOOLEAN,
    domain_authority       BIGINT,
    domain_ranking         BIGINT,
    disclaimer_name        VARCHAR,
    disclaimer_description VARCHAR,
    extra                  JSON
);

COMMENT ON TABLE outlet_listing_channels IS 'Channel summaries of an outlet listing, one row per channel; the summaries carry no id.';
COMMENT ON COLUMN outlet_listing_channels.outlet_listing_id IS 'Id of the listing: outlet_listings.id.';
COMMENT ON COLUMN outlet_listing_channels.position IS 'Place in the list of channels, counted from 1.';
COMMENT ON COLUMN outlet_listing_channels.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.2 OutletChannelSummary.channel_type.';
COMMENT ON COLUMN outlet_listing_channels.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.2 OutletChannelSummary.placement_type.';
COMMENT ON COLUMN outlet_listing_channels.is_do_follow IS 'Whether links carry search engine credit (do-follow). Spec 2.2 OutletChannelSummary.is_do_follow.';
COMMENT ON COLUMN outlet_listing_channels.domain_authority IS 'Domain authority score of the channel, a whole number. Spec 2.2 OutletChannelSummary.domain_authority.';
COMMENT ON COLUMN outlet_listing_channels.domain_ranking IS 'Domain ranking score of the channel, a whole number. Spec 2.2 OutletChannelSummary.domain_ranking.';
COMMENT ON COLUMN outlet_listing_channels.disclaimer_name IS 'Name of the disclaimer that applies. Spec 2.2 OutletChannelSummary.disclaimer_name.';
COMMENT ON COLUMN outlet_listing_channels.disclaimer_description IS 'Text of the disclaimer that applies. Spec 2.2 OutletChannelSummary.disclaimer_description.';
COMMENT ON COLUMN outlet_listing_channels.extra IS 'Fields that this schema does not know, as one JSON object; NULL when there are none. Spec 2 (conventions).';
