-- The status history of an article, from the field status of the records of
-- GET /campaigns/{id}/articles. Key: article_id, position.
-- An item keeps its position between nights if these columns are equal: effective_at, prefix.
CREATE TABLE article_statuses (
    article_id   VARCHAR NOT NULL, -- field 1, references campaign_articles.id
    position     BIGINT NOT NULL,  -- field 2
    effective_at TIMESTAMPTZ,      -- field 3
    notes        VARCHAR,          -- field 4
    name         VARCHAR,          -- field 5
    prefix       VARCHAR,          -- field 6
    color        VARCHAR,          -- field 7
    extra        JSON              -- field 8
);

COMMENT ON TABLE article_statuses IS 'Status history of an article, one row per status that it entered.';
COMMENT ON COLUMN article_statuses.article_id IS 'Id of the article: campaign_articles.id.';
COMMENT ON COLUMN article_statuses.position IS 'Number of the status in the article, counted from 1. A status with the same effective_at and prefix keeps its number when the list comes in another order.';
COMMENT ON COLUMN article_statuses.effective_at IS 'When the article entered the status, UTC. Spec 2.6 ArticleStatus.effective_at.';
COMMENT ON COLUMN article_statuses.notes IS 'Notes on the change. Spec 2.6 ArticleStatus.notes.';
COMMENT ON COLUMN article_statuses.name IS 'Display name of the status. Spec 2.6 ArticleStatus.name.';
COMMENT ON COLUMN article_statuses.prefix IS 'Stable identifier of the status; the specification lists no values. Spec 2.6 ArticleStatus.prefix.';
COMMENT ON COLUMN article_statuses.color IS 'Colour of the status in the dashboard. Spec 2.6 ArticleStatus.color.';
COMMENT ON COLUMN article_statuses.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
