-- Campaigns, from GET /campaigns. Key: id. The questionnaire is in questionnaires, the
-- articles in campaign_articles.
CREATE TABLE campaigns (
    id               VARCHAR NOT NULL, -- field 1
    name             VARCHAR,          -- field 2
    description      VARCHAR,          -- field 3
    reference        VARCHAR,          -- field 4
    profile_id       VARCHAR,          -- field 5, references profiles.id
    v1_campaign_id   VARCHAR,          -- field 6
    status           VARCHAR,          -- field 7
    goals            VARCHAR,          -- field 8
    target_date      TIMESTAMPTZ,      -- field 9
    budget           DECIMAL(18,6),    -- field 10
    created_at       TIMESTAMPTZ,      -- field 11
    updated_at       TIMESTAMPTZ,      -- field 12
    deleted_at       TIMESTAMPTZ,      -- field 13
    questionnaire_id VARCHAR,          -- field 14, references questionnaires.id
    keywords         VARCHAR,          -- field 15
    objectives       VARCHAR,          -- field 16
    target_audience  VARCHAR,          -- field 17
    tone             VARCHAR,          -- field 18
    writing_samples  VARCHAR,          -- field 19
    file_id          VARCHAR,          -- field 20, references files.id
    total_articles   BIGINT,           -- field 21
    profile_name     VARCHAR,          -- field 22
    profile_logo     VARCHAR,          -- field 23
    articles         JSON,             -- field 24
    extra            JSON              -- field 25
);

COMMENT ON TABLE campaigns IS 'Campaigns of the team, one row per campaign. From GET /campaigns.';
COMMENT ON COLUMN campaigns.id IS 'Id of the campaign. Spec 2.5 Campaign.id.';
COMMENT ON COLUMN campaigns.name IS 'Name of the campaign. Spec 2.5 Campaign.name.';
COMMENT ON COLUMN campaigns.description IS 'Description of the campaign. Spec 2.5 Campaign.description.';
COMMENT ON COLUMN campaigns.reference IS 'Reference of the campaign. Spec 2.5 Campaign.reference.';
COMMENT ON COLUMN campaigns.profile_id IS 'Id of the client profile. Spec 2.5 Campaign.profile_id.';
COMMENT ON COLUMN campaigns.v1_campaign_id IS 'Id of the campaign in the earlier system. Spec 2.5 Campaign.v1_campaign_id.';
COMMENT ON COLUMN campaigns.status IS 'Status of the campaign; the specification lists no values. Spec 2.5 Campaign.status.';
COMMENT ON COLUMN campaigns.goals IS 'Goals of the campaign. Spec 2.5 Campaign.goals.';
COMMENT ON COLUMN campaigns.target_date IS 'Date by which the campaign should be done, UTC. Spec 2.5 Campaign.target_date.';
COMMENT ON COLUMN campaigns.budget IS 'Budget of the campaign. The spec names no currency. Spec 2.5 Campaign.budget.';
COMMENT ON COLUMN campaigns.created_at IS 'When the record was created, UTC. Spec 2.5 Campaign.created_at.';
COMMENT ON COLUMN campaigns.updated_at IS 'When the record was last changed, UTC. Spec 2.5 Campaign.updated_at.';
COMMENT ON COLUMN campaigns.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.5 Campaign.deleted_at.';
COMMENT ON COLUMN campaigns.questionnaire_id IS 'Id of the questionnaire: questionnaires.id. Spec 2.5 Campaign.questionnaire_id.';
COMMENT ON COLUMN campaigns.keywords IS 'Keywords. Spec 2.5 Campaign.keywords.';
COMMENT ON COLUMN campaigns.objectives IS 'Objectives. Spec 2.5 Campaign.objectives.';
COMMENT ON COLUMN campaigns.target_audience IS 'Target audience. Spec 2.5 Campaign.target_audience.';
COMMENT ON COLUMN campaigns.tone IS 'Tone of the texts. Spec 2.5 Campaign.tone.';
COMMENT ON COLUMN campaigns.writing_samples IS 'Writing samples. Spec 2.5 Campaign.writing_samples.';
COMMENT ON COLUMN campaigns.file_id IS 'Id of the attached file. Spec 2.5 Campaign.file_id.';
COMMENT ON COLUMN campaigns.total_articles IS 'Number of articles of the campaign. Spec 2.5 Campaign.total_articles.';
COMMENT ON COLUMN campaigns.profile_name IS 'Name of the client profile. Spec 2.5 Campaign.profile.name.';
COMMENT ON COLUMN campaigns.profile_logo IS 'Address of the logo of the client profile. Spec 2.5 Campaign.profile.logo.';
COMMENT ON COLUMN campaigns.articles IS 'List of references to articles, as sent by the service. The articles are in campaign_articles. Spec 2.5 Campaign.articles.';
COMMENT ON COLUMN campaigns.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
