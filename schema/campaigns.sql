-- Campaigns, from GET /campaigns. Key: id. The questionnaire is in questionnaires, the
-- articles in campaign_articles.
CREATE TABLE campaigns (
    id               VARCHAR NOT NULL,
    name             VARCHAR,
    description      VARCHAR,
    reference        VARCHAR,
    profile_id       VARCHAR,
    v1_campaign_id   VARCHAR,
    status           VARCHAR,
    goals            VARCHAR,
    target_date      TIMESTAMPTZ,
    budget           DECIMAL(18,6),
    created_at       TIMESTAMPTZ,
    updated_at       TIMESTAMPTZ,
    deleted_at       TIMESTAMPTZ,
    questionnaire_id VARCHAR,
    keywords         VARCHAR,
    objectives       VARCHAR,
    target_audience  VARCHAR,
    tone             VARCHAR,
    writing_samples  VARCHAR,
    file_id          VARCHAR,
    total_articles   BIGINT,
    profile_name     VARCHAR,
    profile_logo     VARCHAR,
    articles         JSON,
    extra            JSON
);

COMMENT ON TABLE campaigns IS 'Campaigns of the team, one row per campaign. From GET /campaigns.';
COMMENT ON COLUMN campaigns.id IS 'Id of the campaign. Spec 2.5 Campaign.id.';
COMMENT ON COLUMN campaigns.name IS 'Name of the campaign. Spec 2.5 Campaign.name.';
COMMENT ON COLUMN campaigns.description IS 'Description of the campaign. Spec 2.5 Campaign.description.';
COMMENT ON COLUMN campaigns.reference IS 'Reference of the campaign. Spec 2.5 Campaign.reference.';
COMMENT ON COLUMN campaigns.profile_id IS 'Id of the client profile. Spec 2.5 Campaign.profile_id.';
COMMENT ON COLUMN campaigns.v1_campaign_id IS 'Id of the campaign in the earlier system. Spec 2.5 Campaign.v1_campaign_id.';
COMMENT ON COLUMN campaigns.status IS 'Status of the campaign; the values are not shown. Spec 2.5 Campaign.status.';
COMMENT ON COLUMN campaigns.goals IS 'Goals of the campaign. Spec 2.5 Campaign.goals.';
COMMENT ON COLUMN campaigns.target_date IS 'Date by which the campaign should be done, UTC. Spec 2.5 Campaign.target_date.';
COMMENT ON COLUMN campaigns.budget IS 'Budget of the campaign. The spec names no currency. Spec 2.5 Campaign.budget.';
COMMENT ON COLUMN campaigns.created_at IS 'When the record was created, UTC. Spec 2.5 Campaign.created_at.';
COMMENT ON COLUMN campaigns.updated_at IS 'When the record was last changed, UTC. Spec 2.5 Campaign.updated_at.';
COMMENT ON COLUMN campaigns.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not. Spec 2.5 Campaign.deleted_at.';
COMMENT ON COLUMN campaigns.questionnaire_id IS 'Id of the questionnaire: questionnaires.id. Spec 2.5 Campaign.questionnaire_id.';
COMMENT ON COLUMN campaigns.keywords IS 'Keywords. Spec 2.5 Campaign.keywords.';
COMMENT ON COLUMN campaigns.objectives IS 'Objectives. Spec 2.5 Campaign.objectives.';
COMMENT ON COLUMN campaigns.target_audience IS 'Target audience. Spec 2.5 Campaign.target_audience.';
COMMENT ON COLUMN campaigns.tone IS 'Tone of the texts. Spec 2.5 Campaign.tone.';
COMMENT ON COLUMN campaigns.writing_samples IS 'Writing samples. Spec 2.5 Campaign.writing_samples.';
COMMENT ON COLUMN campaigns.file_id IS 'Id of the attached file. Spec 2.5 Campaign.file_id.';
COMMENT ON COLUMN campaigns.total_articles IS 'How many articles the campaign has. Spec 2.5 Campaign.total_articles.';
COMMENT ON COLUMN campaigns.profile_name IS 'Name of the client profile. Spec 2.5 Campaign.profile.name.';
COMMENT ON COLUMN campaigns.profile_logo IS 'Address of the logo of the client profile. Spec 2.5 Campaign.profile.logo.';
COMMENT ON COLUMN campaigns.articles IS 'References to articles as answered, a list; the rows themselves are in campaign_articles. Spec 2.5 Campaign.articles.';
COMMENT ON COLUMN campaigns.extra IS 'Fields that this schema does not know, as one JSON object; NULL when there are none. Spec 2 (conventions).';
