-- The progress of every article, with its campaign and order item.
-- grain: one row per article
CREATE VIEW mart.article_progress AS
WITH article_facts AS (
    SELECT
        id,
        coalesce(a.name, c.name)               AS article_name,
        coalesce(a.campaign_id, c.campaign_id) AS campaign_id,
        a.profile_id,
        c.order_item_id,
        c.created_at,
        coalesce(a.writer_id, c.writer_id)     AS writer_id,
        coalesce(nullif(trim(concat_ws(' ', a.writer_first_name, a.writer_last_name)), ''),
            nullif(trim(concat_ws(' ', c.writer_first_name, c.writer_last_name)), '')) AS writer_name,
        a.status_prefix,
        a.status_name,
        coalesce(a.expected_completion_date, c.expected_completion_date) AS expected_at,
        coalesce(a.expected_completion_date_title, c.expected_completion_date_title) AS expected_for,
        coalesce(a.live_url, c.live_url)           AS live_url,
        coalesce(a.brief_doc_url, c.brief_doc_url) AS brief_doc_url,
        coalesce(a.draft_doc_url, c.draft_doc_url) AS draft_doc_url
    FROM main.articles AS a
    FULL JOIN main.campaign_articles AS c USING (id)
    WHERE c.deleted_at IS NULL
),
items_by_article AS (
    SELECT article_id, min(id) AS order_item_id
    FROM main.order_items
    WHERE article_id IS NOT NULL AND deleted_at IS NULL
    GROUP BY article_id
),
steps AS (
    SELECT
        h.article_id,
        min(h.effective_at) AS began_at,
        min(CASE WHEN m.state = 'published' THEN h.effective_at END) AS published_at,
        min(CASE WHEN m.state = 'ended' THEN h.effective_at END) AS ended_at
    FROM main.article_statuses AS h
    LEFT JOIN meta.statuses AS m ON m.prefix = h.prefix
    GROUP BY h.article_id
)
SELECT
    f.id                                                      AS article_id,
    f.article_name,
    f.campaign_id,
    c.name                                                    AS campaign_name,
    coalesce(f.profile_id, c.profile_id)                      AS profile_id,
    coalesce(p.name, c.profile_name)                          AS profile_name,
    coalesce(f.order_item_id, items_by_article.order_item_id) AS order_item_id,
    i.outlet_id,
    coalesce(i.outlet_name, n.outlet_name) AS outlet_name,
    f.writer_id,
    f.writer_name,
    -- Prefix and name come from the same source, so coalesce would be wrong for the name.
    CASE WHEN f.status_prefix IS NULL THEN s.status_prefix ELSE f.status_prefix END AS status_prefix,
    CASE WHEN f.status_prefix IS NULL THEN s.status_name ELSE f.status_name END     AS status_name,
    CASE WHEN f.status_prefix IS NULL OR f.status_prefix = s.status_prefix THEN s.began_at END AS status_since,
    CASE WHEN f.live_url IS NOT NULL THEN 'published' ELSE coalesce(m.state, 'open') END AS state,
    CASE WHEN f.live_url IS NULL THEN m.waits_for END                                    AS waits_for,
    coalesce(f.created_at, steps.began_at)                         AS started_at,
    steps.published_at,
    CASE WHEN steps.published_at IS NULL THEN steps.ended_at END   AS ended_at,
    coalesce(i.date_paid, o.date_paid)                             AS order_paid_at,
    f.expected_at,
    f.expected_for,
    f.live_url,
    f.brief_doc_url,
    f.draft_doc_url
FROM article_facts AS f
LEFT JOIN mart.article_stays AS s ON s.article_id = f.id AND s.ended_at IS NULL
LEFT JOIN meta.statuses AS m ON m.prefix = coalesce(f.status_prefix, s.status_prefix)
LEFT JOIN steps ON steps.article_id = f.id
LEFT JOIN main.campaigns AS c ON c.id = f.campaign_id
LEFT JOIN main.profiles AS p ON p.id = coalesce(f.profile_id, c.profile_id)
LEFT JOIN items_by_article ON items_by_article.article_id = f.id
LEFT JOIN main.order_items AS i ON i.id = coalesce(f.order_item_id, items_by_article.order_item_id)
LEFT JOIN main.orders AS o ON o.id = i.order_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = i.outlet_id;

COMMENT ON VIEW mart.article_progress IS 'Articles with campaign, order item, writer, current status and dates, one row per article that is not marked deleted. A value that the article lacks is taken from its row in campaign_articles.';
COMMENT ON COLUMN mart.article_progress.article_id IS 'Id of the article: articles.id.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.article_name IS 'Name of the article.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.campaign_id IS 'Id of the campaign: campaigns.id.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.campaign_name IS 'Name of the campaign.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.profile_id IS 'Id of the client profile: profiles.id.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.profile_name IS 'Name of the client profile.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.order_item_id IS 'Id of the order item of the article: order_items.id.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.outlet_id IS 'Id of the outlet: outlets.id.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.outlet_name IS 'Name of the outlet.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.writer_id IS 'Id of the writer; NULL if no writer is assigned.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.writer_name IS 'First and last name of the writer.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.status_prefix IS 'Stable identifier of the current status, from the article, else from its last status change.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.status_name IS 'Display name of the current status.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.status_since IS 'When the article entered its current status, UTC; NULL if the status history has no time or ends with another status.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.article_progress.state IS 'open, published or ended. An article with a live address is published. Otherwise the meaning of its status counts: meta.statuses. A status without a meaning is open.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.waits_for IS 'Who has to act next: partner (to change something), approval (of the partner), writer or publisher; NULL if the article is not open, or if its status does not say.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.started_at IS 'When the article was created, UTC; if that time is unknown, when it entered its first status.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.article_progress.published_at IS 'When the article first entered a status that means published, UTC; NULL if that time is unknown.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.article_progress.ended_at IS 'When the article first entered a status that means ended, UTC; NULL if that time is unknown, or if published_at is known.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.article_progress.order_paid_at IS 'When the order was paid, UTC, from the item, else from its order.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.article_progress.expected_at IS 'When the article is expected to be done, UTC.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.article_progress.expected_for IS 'Event that is expected at expected_at, as the service names it.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.live_url IS 'Address of the published article; NULL until it is published.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.brief_doc_url IS 'Address of the brief.'; -- VARCHAR
COMMENT ON COLUMN mart.article_progress.draft_doc_url IS 'Address of the draft.'; -- VARCHAR
