-- Add-ons of the order item of an article: one row per add-on. Key: article_id, position.
-- An item keeps its position between nights if these columns are equal: id, or else name.
CREATE TABLE campaign_article_addons (
    article_id VARCHAR NOT NULL, -- field 1, references campaign_articles.id
    position   BIGINT NOT NULL,  -- field 2
    id         VARCHAR,          -- field 3
    name       VARCHAR,          -- field 4
    extra      JSON              -- field 5
);

COMMENT ON TABLE campaign_article_addons IS 'Add-ons of the order item of an article, one row per add-on.';
COMMENT ON COLUMN campaign_article_addons.article_id IS 'Id of the article: campaign_articles.id.';
COMMENT ON COLUMN campaign_article_addons.position IS 'Number of the add-on in the order item, counted from 1. An add-on with the same id or name keeps its number when the list comes in another order.';
COMMENT ON COLUMN campaign_article_addons.id IS 'Id of the add-on; NULL if the service sends no id. Spec 2.6 ArticleOrderItem.addons.';
COMMENT ON COLUMN campaign_article_addons.name IS 'Name of the add-on, or the string itself if the list contains plain strings. Spec 2.6 ArticleOrderItem.addons.';
COMMENT ON COLUMN campaign_article_addons.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
