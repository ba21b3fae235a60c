-- Placements included in the order item of an article, one row each. Key:
-- article_id, position.
-- An item keeps its position between nights if these columns are equal: channel_type, placement_type.
CREATE TABLE campaign_article_includes (
    article_id     VARCHAR NOT NULL, -- field 1, references campaign_articles.id
    position       BIGINT NOT NULL,  -- field 2
    channel_type   VARCHAR,          -- field 3
    placement_type VARCHAR,          -- field 4
    extra          JSON              -- field 5
);

COMMENT ON TABLE campaign_article_includes IS 'Placements that the order item of an article includes, one row each. An empty list and null have no rows. Spec 2.6 ArticleOrderItem.includes.';
COMMENT ON COLUMN campaign_article_includes.article_id IS 'Id of the article: campaign_articles.id.';
COMMENT ON COLUMN campaign_article_includes.position IS 'Number of the placement in the order item, counted from 1. A placement with the same types keeps its number when the list comes in another order.';
COMMENT ON COLUMN campaign_article_includes.channel_type IS 'Type of channel, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.channel_type.';
COMMENT ON COLUMN campaign_article_includes.placement_type IS 'Type of placement, usually a value of spec 2.7; other texts are kept. Spec 2.3 IncludeItem.placement_type.';
COMMENT ON COLUMN campaign_article_includes.extra IS 'Unknown fields, as one JSON object; NULL if there are none. Spec 2 (conventions).';
