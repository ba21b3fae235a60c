-- Channels of an outlet, from the field outlet_channels of GET /outlets/{outlet_id}. Key: id. The field
-- do_follow_links_allowed can be a boolean, a number or a text. It is stored in four columns.
CREATE TABLE outlet_channels (
    id                        VARCHAR NOT NULL, -- field 1
    outlet_id                 VARCHAR,          -- field 2, references outlets.id
    channel_type              VARCHAR,          -- field 3
    placement_type            VARCHAR,          -- field 4
    channel_handle            VARCHAR,          -- field 5
    channel_url               VARCHAR,          -- field 6
    is_do_follow              BOOLEAN,          -- field 7
    domain_authority          BIGINT,           -- field 8
    domain_ranking            BIGINT,           -- field 9
    do_follow_links_allowed   BOOLEAN,          -- field 10
    do_follow_links_limit     INTEGER,          -- field 11
    do_follow_links_unlimited BOOLEAN,          -- field 12
    do_follow_links_raw       VARCHAR,          -- field 13
    disclaimer_name           VARCHAR,          -- field 14
    disclaimer_description    VARCHAR,          -- field 15
    extra                     JSON              -- field 16
);

COMMENT ON TABLE outlet_channels IS 'Channels of an outlet, one row per channel. From GET /outlets/{outlet_id}.';
COMMENT ON COLUMN outlet_channels.id IS 'Id of the channel. Spec 2.2 OutletChannel.id.';
COMMENT ON COLUMN outlet_channels.outlet_id IS 'Id of the outlet: outlets.id. If the channel contains no outlet id, the id of the enclosing outlet. A difference between the two is recorded in meta.drift. Spec 2.2 OutletChannel.outlet_id.';
COMMENT ON COLUMN outlet_channels.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.2 OutletChannel.channel_type.';
COMMENT ON COLUMN outlet_channels.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.2 OutletChannel.placement_type.';
COMMENT ON COLUMN outlet_channels.channel_handle IS 'Handle of the channel, such as an account name. Spec 2.2 OutletChannel.channel_handle.';
COMMENT ON COLUMN outlet_channels.channel_url IS 'Address of the channel. Spec 2.2 OutletChannel.channel_url.';
COMMENT ON COLUMN outlet_channels.is_do_follow IS 'Whether links carry search engine credit (do-follow). Spec 2.2 OutletChannel.is_do_follow.';
COMMENT ON COLUMN outlet_channels.domain_authority IS 'Domain authority score of the channel, a whole number. Spec 2.2 OutletChannel.domain_authority.';
COMMENT ON COLUMN outlet_channels.domain_ranking IS 'Domain ranking score of the channel, a whole number. Spec 2.2 OutletChannel.domain_ranking.';
COMMENT ON COLUMN outlet_channels.do_follow_links_allowed IS 'Whether do-follow links are allowed; true for a number above zero; NULL if unknown. Spec 2.2 OutletChannel.do_follow_links_allowed.';
COMMENT ON COLUMN outlet_channels.do_follow_links_limit IS 'Number of do-follow links allowed; NULL if no limit is known. Spec 2.2 OutletChannel.do_follow_links_allowed.';
COMMENT ON COLUMN outlet_channels.do_follow_links_unlimited IS 'Whether the number of do-follow links is unlimited; NULL if unknown. Spec 2.2 OutletChannel.do_follow_links_allowed.';
COMMENT ON COLUMN outlet_channels.do_follow_links_raw IS 'The JSON text that the service sent. The other three columns do_follow_links_* are read from it. Spec 2.2 OutletChannel.do_follow_links_allowed.';
COMMENT ON COLUMN outlet_channels.disclaimer_name IS 'Name of the disclaimer that applies. Spec 2.2 OutletChannel.disclaimer_name.';
COMMENT ON COLUMN outlet_channels.disclaimer_description IS 'Text of the disclaimer that applies. Spec 2.2 OutletChannel.disclaimer_description.';
COMMENT ON COLUMN outlet_channels.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
