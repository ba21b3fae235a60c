-- Social links of an outlet channel: one row per link. Key: outlet_channel_id, position.
-- An item keeps its position between nights if these columns are equal: url.
CREATE TABLE outlet_channel_social_links (
    outlet_channel_id VARCHAR NOT NULL, -- field 1, references outlet_channels.id
    position          BIGINT NOT NULL,  -- field 2
    url               VARCHAR,          -- field 3
    extra             JSON              -- field 4
);

COMMENT ON TABLE outlet_channel_social_links IS 'Social links of an outlet channel, one row per link.';
COMMENT ON COLUMN outlet_channel_social_links.outlet_channel_id IS 'Id of the channel: outlet_channels.id.';
COMMENT ON COLUMN outlet_channel_social_links.position IS 'Number of the link in the channel, counted from 1. A link with the same url keeps its number when the list comes in another order.';
COMMENT ON COLUMN outlet_channel_social_links.url IS 'Address of the link, or the string itself if the list contains plain strings. Spec 2.2 OutletChannel.social_links.';
COMMENT ON COLUMN outlet_channel_social_links.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
