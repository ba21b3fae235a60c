-- Articles of a campaign by status, from GET /campaigns/{id}/articles/status-count. Key:
-- campaign_id, id.
CREATE TABLE campaign_status_counts (
    campaign_id VARCHAR NOT NULL, -- field 1, references campaigns.id
    id          VARCHAR NOT NULL, -- field 2
    name        VARCHAR,          -- field 3
    prefix      VARCHAR,          -- field 4
    count       BIGINT,           -- field 5
    extra       JSON              -- field 6
);

COMMENT ON TABLE campaign_status_counts IS 'Number of articles of a campaign in each status, one row per campaign and status. From GET /campaigns/{id}/articles/status-count.';
COMMENT ON COLUMN campaign_status_counts.campaign_id IS 'Id of the campaign: campaigns.id. Spec 4.2 GET /campaigns/{id}/articles/status-count.';
COMMENT ON COLUMN campaign_status_counts.id IS 'Id of the status; if the service sends no id, the prefix of the status. Spec 2.6 ArticleStatusCount.id.';
COMMENT ON COLUMN campaign_status_counts.name IS 'Display name of the status. Spec 2.6 ArticleStatusCount.name.';
COMMENT ON COLUMN campaign_status_counts.prefix IS 'Stable identifier of the status; the specification lists no values. Spec 2.6 ArticleStatusCount.prefix.';
COMMENT ON COLUMN campaign_status_counts.count IS 'Number of articles in the status. Spec 2.6 ArticleStatusCount.count.';
COMMENT ON COLUMN campaign_status_counts.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
