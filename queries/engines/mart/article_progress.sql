-- The progress of every article, with its campaign and order item.
WITH article_facts AS (
    SELECT
        id,
        coalesce(a.name, c.name)               AS article_name,
        coalesce(a.campaign_id, c.campaign_id) AS campaign_id,
        a.profile_id,
        c.order_item_id,
        c.created_at,
        coalesce(a.writer_id, c.writer_id)     AS writer_id,
        coalesce(nullif(trim(BOTH ' ' FROM concat_ws(' ', a.writer_first_name, a.writer_last_name)), ''),
            nullif(trim(BOTH ' ' FROM concat_ws(' ', c.writer_first_name, c.writer_last_name)), '')) AS writer_name,
        a.status_prefix,
        a.status_name,
        coalesce(a.expected_completion_date, c.expected_completion_date) AS expected_at,
        coalesce(a.expected_completion_date_title, c.expected_completion_date_title) AS expected_for,
        coalesce(a.live_url, c.live_url)           AS live_url,
        coalesce(a.brief_doc_url, c.brief_doc_url) AS brief_doc_url,
        coalesce(a.draft_doc_url, c.draft_doc_url) AS draft_doc_url
    FROM ${current}.articles AS a
    FULL JOIN ${current}.campaign_articles AS c USING (id)
    WHERE c.deleted_at IS NULL
),
items_by_article AS (
    SELECT article_id, min(id) AS order_item_id
    FROM ${current}.order_items
    WHERE article_id IS NOT NULL AND deleted_at IS NULL
    GROUP BY article_id
),
steps AS (
    SELECT
        h.article_id,
        min(h.effective_at) AS began_at,
        min(CASE WHEN m.state = 'published' THEN h.effective_at END) AS published_at,
        min(CASE WHEN m.state = 'ended' THEN h.effective_at END) AS ended_at
    FROM ${current}.article_statuses AS h
    LEFT JOIN ${meta}.statuses AS m ON m.prefix = h.prefix
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
LEFT JOIN ${mart}.article_stays AS s ON s.article_id = f.id AND s.ended_at IS NULL
LEFT JOIN ${meta}.statuses AS m ON m.prefix = coalesce(f.status_prefix, s.status_prefix)
LEFT JOIN steps ON steps.article_id = f.id
LEFT JOIN ${current}.campaigns AS c ON c.id = f.campaign_id
LEFT JOIN ${current}.profiles AS p ON p.id = coalesce(f.profile_id, c.profile_id)
LEFT JOIN items_by_article ON items_by_article.article_id = f.id
LEFT JOIN ${current}.order_items AS i ON i.id = coalesce(f.order_item_id, items_by_article.order_item_id)
LEFT JOIN ${current}.orders AS o ON o.id = i.order_id
LEFT JOIN ${mart}.outlet_names AS n ON n.outlet_id = i.outlet_id
