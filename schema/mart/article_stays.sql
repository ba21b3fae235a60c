-- The time that articles spent in each status.
-- grain: one row per article and status that it entered
CREATE VIEW mart.article_stays AS
SELECT
    article_id,
    position,
    prefix       AS status_prefix,
    name         AS status_name,
    effective_at AS began_at,
    lead(effective_at) OVER (PARTITION BY article_id ORDER BY effective_at, position) AS ended_at
FROM main.article_statuses
WHERE effective_at IS NOT NULL;

COMMENT ON VIEW mart.article_stays IS 'Stays of articles in a status, one row per status that an article entered. Statuses without a time are left out.';
COMMENT ON COLUMN mart.article_stays.article_id IS 'Id of the article: campaign_articles.id.'; -- VARCHAR
COMMENT ON COLUMN mart.article_stays.position IS 'Position in the status list: article_statuses.position.'; -- BIGINT
COMMENT ON COLUMN mart.article_stays.status_prefix IS 'Stable identifier of the status.'; -- VARCHAR
COMMENT ON COLUMN mart.article_stays.status_name IS 'Display name of the status.'; -- VARCHAR
COMMENT ON COLUMN mart.article_stays.began_at IS 'When the article entered the status, UTC.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.article_stays.ended_at IS 'When the article entered the next status, UTC; NULL for the last status.'; -- TIMESTAMPTZ
