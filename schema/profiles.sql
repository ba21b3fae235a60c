-- Client profiles, from GET /teams/{team_id}/profiles. Key: id. Primary goals are in
-- profile_primary_goals.
CREATE TABLE profiles (
    id                      VARCHAR NOT NULL, -- field 1
    name                    VARCHAR,          -- field 2
    legal_company_name      VARCHAR,          -- field 3
    type                    VARCHAR,          -- field 4
    logo                    VARCHAR,          -- field 5
    location                VARCHAR,          -- field 6
    overview                VARCHAR,          -- field 7
    products_and_services   VARCHAR,          -- field 8
    drive_link              VARCHAR,          -- field 9, also google_drive_link
    writing_samples         VARCHAR,          -- field 10
    website_url             VARCHAR,          -- field 11
    team_id                 VARCHAR,          -- field 12
    brand_tone_and_voice_id VARCHAR,          -- field 13
    last_generated_at       TIMESTAMPTZ,      -- field 14
    created_at              TIMESTAMPTZ,      -- field 15
    updated_at              TIMESTAMPTZ,      -- field 16
    deleted_at              TIMESTAMPTZ,      -- field 17
    extra                   JSON              -- field 18
);

COMMENT ON TABLE profiles IS 'Client profiles of the team, one row per profile. From GET /teams/{team_id}/profiles.';
COMMENT ON COLUMN profiles.id IS 'Id of the profile. Spec 2.5 Profile.id.';
COMMENT ON COLUMN profiles.name IS 'Name of the profile. Spec 2.5 Profile.name.';
COMMENT ON COLUMN profiles.legal_company_name IS 'Legal name of the company. Spec 2.5 Profile.legal_company_name.';
COMMENT ON COLUMN profiles.type IS 'Type of the profile. Spec 2.5 Profile.type.';
COMMENT ON COLUMN profiles.logo IS 'Address of the logo. Spec 2.5 Profile.logo.';
COMMENT ON COLUMN profiles.location IS 'Location of the company. Spec 2.5 Profile.location.';
COMMENT ON COLUMN profiles.overview IS 'Description of the company. Spec 2.5 Profile.overview.';
COMMENT ON COLUMN profiles.products_and_services IS 'Products and services of the company. Spec 2.5 Profile.products_and_services.';
COMMENT ON COLUMN profiles.drive_link IS 'Address of the shared folder. Spec 2.5 Profile.drive_link.';
COMMENT ON COLUMN profiles.writing_samples IS 'Writing samples. Spec 2.5 Profile.writing_samples.';
COMMENT ON COLUMN profiles.website_url IS 'Website of the company. Spec 2.5 Profile.website_url.';
COMMENT ON COLUMN profiles.team_id IS 'Id of the team. Spec 2.5 Profile.team_id.';
COMMENT ON COLUMN profiles.brand_tone_and_voice_id IS 'Id of the tone and voice of the brand. Spec 2.5 Profile.brand_tone_and_voice_id.';
COMMENT ON COLUMN profiles.last_generated_at IS 'When texts were last generated, UTC. Spec 2.5 Profile.last_generated_at.';
COMMENT ON COLUMN profiles.created_at IS 'When the record was created, UTC. Spec 2.5 Profile.created_at.';
COMMENT ON COLUMN profiles.updated_at IS 'When the record was last changed, UTC. Spec 2.5 Profile.updated_at.';
COMMENT ON COLUMN profiles.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.5 Profile.deleted_at.';
COMMENT ON COLUMN profiles.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
