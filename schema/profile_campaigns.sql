-- Links between profiles and campaigns, from GET /profiles/{id}/campaigns. Key: profile_id,
-- campaign_id.
CREATE TABLE profile_campaigns (
    profile_id  VARCHAR NOT NULL, -- field 1, references profiles.id
    campaign_id VARCHAR NOT NULL  -- field 2, references campaigns.id
);

COMMENT ON TABLE profile_campaigns IS 'Campaigns of a profile, one row per profile and campaign. The other columns of a campaign are in campaigns. From GET /profiles/{id}/campaigns.';
COMMENT ON COLUMN profile_campaigns.profile_id IS 'Id of the profile: profiles.id. Spec 4.2 GET /profiles/{id}/campaigns.';
COMMENT ON COLUMN profile_campaigns.campaign_id IS 'Id of the campaign: campaigns.id. Spec 2.5 Campaign.id.';
