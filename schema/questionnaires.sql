-- Questionnaires of campaigns, from the field questionnaire of GET /campaigns. Key: id.
CREATE TABLE questionnaires (
    id              VARCHAR NOT NULL, -- field 1
    campaign_id     VARCHAR,          -- field 2, references campaigns.id
    objectives      VARCHAR,          -- field 3
    keywords        VARCHAR,          -- field 4
    target_audience VARCHAR,          -- field 5
    tone            VARCHAR,          -- field 6
    writing_samples VARCHAR,          -- field 7
    file_id         VARCHAR,          -- field 8, references files.id
    file_name       VARCHAR,          -- field 9
    file_size       BIGINT,           -- field 10
    file_url        VARCHAR,          -- field 11
    created_at      TIMESTAMPTZ,      -- field 12
    updated_at      TIMESTAMPTZ,      -- field 13
    deleted_at      TIMESTAMPTZ,      -- field 14
    extra           JSON              -- field 15
);

COMMENT ON TABLE questionnaires IS 'Questionnaires of campaigns, at most one per campaign. From GET /campaigns.';
COMMENT ON COLUMN questionnaires.id IS 'Id of the questionnaire; if the questionnaire has no id, questionnaire_id of its campaign, or else the id of the campaign. Spec 2.5 Questionnaire.id.';
COMMENT ON COLUMN questionnaires.campaign_id IS 'Id of the campaign: campaigns.id. If the questionnaire contains no campaign id, the id of the enclosing campaign. A difference between the two is recorded in meta.drift. Spec 2.5 Questionnaire.campaign_id.';
COMMENT ON COLUMN questionnaires.objectives IS 'Objectives. Spec 2.5 Questionnaire.objectives.';
COMMENT ON COLUMN questionnaires.keywords IS 'Keywords. Spec 2.5 Questionnaire.keywords.';
COMMENT ON COLUMN questionnaires.target_audience IS 'Target audience. Spec 2.5 Questionnaire.target_audience.';
COMMENT ON COLUMN questionnaires.tone IS 'Tone of the texts. Spec 2.5 Questionnaire.tone.';
COMMENT ON COLUMN questionnaires.writing_samples IS 'Writing samples. Spec 2.5 Questionnaire.writing_samples.';
COMMENT ON COLUMN questionnaires.file_id IS 'Id of the questionnaire file. Spec 2.5 Questionnaire.file_id.';
COMMENT ON COLUMN questionnaires.file_name IS 'Name of the questionnaire file. Spec 2.5 Questionnaire.file_name.';
COMMENT ON COLUMN questionnaires.file_size IS 'Size of the questionnaire file, in bytes. Spec 2.5 Questionnaire.file_size.';
COMMENT ON COLUMN questionnaires.file_url IS 'Address of the questionnaire file. Spec 2.5 Questionnaire.file_url.';
COMMENT ON COLUMN questionnaires.created_at IS 'When the record was created, UTC. Spec 2.5 Questionnaire.created_at.';
COMMENT ON COLUMN questionnaires.updated_at IS 'When the record was last changed, UTC. Spec 2.5 Questionnaire.updated_at.';
COMMENT ON COLUMN questionnaires.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.5 Questionnaire.deleted_at.';
COMMENT ON COLUMN questionnaires.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
