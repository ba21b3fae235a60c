-- Articles in full, from GET /articles/{article_id}. Key: id. Files are in article_files,
-- the status history in article_statuses.
CREATE TABLE articles (
    id                             VARCHAR NOT NULL, -- field 1
    name                           VARCHAR,          -- field 2
    brief_doc_url                  VARCHAR,          -- field 3, also brief_google_doc_url
    draft_doc_url                  VARCHAR,          -- field 4, also draft_google_doc_url
    live_url                       VARCHAR,          -- field 5
    campaign_id                    VARCHAR,          -- field 6, references campaigns.id
    product_id                     VARCHAR,          -- field 7, references products.id
    profile_id                     VARCHAR,          -- field 8, references profiles.id
    updated_at                     TIMESTAMPTZ,      -- field 9
    writer_id                      VARCHAR,          -- field 10
    writer_first_name              VARCHAR,          -- field 11
    writer_last_name               VARCHAR,          -- field 12
    support_agent                  VARCHAR,          -- field 13
    support_agent_id               VARCHAR,          -- field 14
    support_agent_first_name       VARCHAR,          -- field 15
    support_agent_last_name        VARCHAR,          -- field 16
    status_name                    VARCHAR,          -- field 17
    status_prefix                  VARCHAR,          -- field 18
    status_color                   VARCHAR,          -- field 19
    expected_completion_date       TIMESTAMPTZ,      -- field 20
    expected_completion_date_title VARCHAR,          -- field 21
    extra                          JSON              -- field 22
);

COMMENT ON TABLE articles IS 'Articles with their current status, one row per article that a campaign or an order item names. From GET /articles/{article_id}.';
COMMENT ON COLUMN articles.id IS 'Id of the article. Spec 2.6 Article.id.';
COMMENT ON COLUMN articles.name IS 'Name of the article. Spec 2.6 Article.name.';
COMMENT ON COLUMN articles.brief_doc_url IS 'Address of the brief. Spec 2.6 Article.brief_doc_url.';
COMMENT ON COLUMN articles.draft_doc_url IS 'Address of the draft. Spec 2.6 Article.draft_doc_url.';
COMMENT ON COLUMN articles.live_url IS 'Address of the published article; NULL until it is published. Spec 2.6 Article.live_url.';
COMMENT ON COLUMN articles.campaign_id IS 'Id of the campaign: campaigns.id. Spec 2.6 Article.campaign_id.';
COMMENT ON COLUMN articles.product_id IS 'Id of the product. Spec 2.6 Article.product_id.';
COMMENT ON COLUMN articles.profile_id IS 'Id of the client profile. Spec 2.6 Article.profile_id.';
COMMENT ON COLUMN articles.updated_at IS 'When the article was last changed, UTC. Spec 2.6 Article.updated_at.';
COMMENT ON COLUMN articles.writer_id IS 'Id of the writer. Spec 2.6 Article.writer.id.';
COMMENT ON COLUMN articles.writer_first_name IS 'First name of the writer. Spec 2.6 Article.writer.first_name.';
COMMENT ON COLUMN articles.writer_last_name IS 'Last name of the writer. Spec 2.6 Article.writer.last_name.';
COMMENT ON COLUMN articles.support_agent IS 'Support agent, if the service sends a string. An object fills the next three columns instead. Spec 2.6 Article.support_agent.';
COMMENT ON COLUMN articles.support_agent_id IS 'Id of the support agent, if the service sends an object. Spec 2.6 Article.support_agent.';
COMMENT ON COLUMN articles.support_agent_first_name IS 'First name of the support agent, if the service sends an object. Spec 2.6 Article.support_agent.';
COMMENT ON COLUMN articles.support_agent_last_name IS 'Last name of the support agent, if the service sends an object. Spec 2.6 Article.support_agent.';
COMMENT ON COLUMN articles.status_name IS 'Display name of the current status. Spec 2.6 Article.status.name.';
COMMENT ON COLUMN articles.status_prefix IS 'Stable identifier of the current status; the specification lists no values. Spec 2.6 Article.status.prefix.';
COMMENT ON COLUMN articles.status_color IS 'Colour of the current status in the dashboard. Spec 2.6 Article.status.color.';
COMMENT ON COLUMN articles.expected_completion_date IS 'When the article is expected to be done, UTC. Spec 2.6 Article.expected_completion_date.';
COMMENT ON COLUMN articles.expected_completion_date_title IS 'Title that the service gives to the expected date. Spec 2.6 Article.expected_completion_date_title.';
COMMENT ON COLUMN articles.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
