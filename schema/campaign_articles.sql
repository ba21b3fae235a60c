-- Articles in the list of their campaign, from GET /campaigns/{id}/articles. Key: id. The status
-- history is in article_statuses. The add-ons of the order item are in campaign_article_addons, and its
-- included placements in campaign_article_includes.
CREATE TABLE campaign_articles (
    id                            VARCHAR NOT NULL, -- field 1
    name                          VARCHAR,          -- field 2
    live_url                      VARCHAR,          -- field 3
    brief_doc_url                 VARCHAR,          -- field 4, also brief_google_doc_url
    draft_doc_url                 VARCHAR,          -- field 5, also draft_google_doc_url
    campaign_id                   VARCHAR,          -- field 6, references campaigns.id
    order_item_id                 VARCHAR,          -- field 7, references order_items.id
    created_at                    TIMESTAMPTZ,      -- field 8
    updated_at                    TIMESTAMPTZ,      -- field 9
    deleted_at                    TIMESTAMPTZ,      -- field 10
    total_images                  BIGINT,           -- field 11
    writer_id                     VARCHAR,          -- field 12
    writer_first_name             VARCHAR,          -- field 13
    writer_last_name              VARCHAR,          -- field 14
    order_item_name               VARCHAR,          -- field 15
    order_item_outlet_id          VARCHAR,          -- field 16, references outlets.id
    order_item_outlet_name        VARCHAR,          -- field 17
    order_item_outlet_logo        VARCHAR,          -- field 18
    order_item_outlet_website_url VARCHAR,          -- field 19
    expected_completion_date       TIMESTAMPTZ,     -- field 21
    expected_completion_date_title VARCHAR,         -- field 22
    extra                         JSON              -- field 20
);

COMMENT ON TABLE campaign_articles IS 'Articles of a campaign, one row per article. From GET /campaigns/{id}/articles.';
COMMENT ON COLUMN campaign_articles.id IS 'Id of the article: articles.id. Spec 2.6 CampaignArticleRow.id.';
COMMENT ON COLUMN campaign_articles.name IS 'Name of the article. Spec 2.6 CampaignArticleRow.name.';
COMMENT ON COLUMN campaign_articles.live_url IS 'Address of the published article; NULL until it is published. Spec 2.6 CampaignArticleRow.live_url.';
COMMENT ON COLUMN campaign_articles.brief_doc_url IS 'Address of the brief. Spec 2.6 CampaignArticleRow.brief_doc_url.';
COMMENT ON COLUMN campaign_articles.draft_doc_url IS 'Address of the draft. Spec 2.6 CampaignArticleRow.draft_doc_url.';
COMMENT ON COLUMN campaign_articles.campaign_id IS 'Id of the campaign: campaigns.id. Spec 2.6 CampaignArticleRow.campaign_id.';
COMMENT ON COLUMN campaign_articles.order_item_id IS 'Id of the order item: order_items.id. Spec 2.6 CampaignArticleRow.order_item_id.';
COMMENT ON COLUMN campaign_articles.created_at IS 'When the record was created, UTC. Spec 2.6 CampaignArticleRow.created_at.';
COMMENT ON COLUMN campaign_articles.updated_at IS 'When the record was last changed, UTC. Spec 2.6 CampaignArticleRow.updated_at.';
COMMENT ON COLUMN campaign_articles.deleted_at IS 'When the record was marked deleted, UTC; NULL while it is not deleted. Spec 2.6 CampaignArticleRow.deleted_at.';
COMMENT ON COLUMN campaign_articles.total_images IS 'Number of images of the article. Spec 2.6 CampaignArticleRow.total_images.';
COMMENT ON COLUMN campaign_articles.writer_id IS 'Id of the writer. Spec 2.6 CampaignArticleRow.writer.id.';
COMMENT ON COLUMN campaign_articles.writer_first_name IS 'First name of the writer. Spec 2.6 CampaignArticleRow.writer.first_name.';
COMMENT ON COLUMN campaign_articles.writer_last_name IS 'Last name of the writer. Spec 2.6 CampaignArticleRow.writer.last_name.';
COMMENT ON COLUMN campaign_articles.order_item_name IS 'Name of the order item. Spec 2.6 CampaignArticleRow.order_item.name.';
COMMENT ON COLUMN campaign_articles.order_item_outlet_id IS 'Id of the outlet. Spec 2.6 CampaignArticleRow.order_item.outlet.id.';
COMMENT ON COLUMN campaign_articles.order_item_outlet_name IS 'Name of the outlet. Spec 2.6 CampaignArticleRow.order_item.outlet.name.';
COMMENT ON COLUMN campaign_articles.order_item_outlet_logo IS 'Address of the logo of the outlet. Spec 2.6 CampaignArticleRow.order_item.outlet.logo.';
COMMENT ON COLUMN campaign_articles.order_item_outlet_website_url IS 'Website of the outlet. Spec 2.6 CampaignArticleRow.order_item.outlet.website_url.';
COMMENT ON COLUMN campaign_articles.expected_completion_date IS 'When the article is expected to be done, UTC. Spec 2.6 CampaignArticleRow.expected_completion_date.';
COMMENT ON COLUMN campaign_articles.expected_completion_date_title IS 'Title that the service gives to the expected date. Spec 2.6 CampaignArticleRow.expected_completion_date_title.';
COMMENT ON COLUMN campaign_articles.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
