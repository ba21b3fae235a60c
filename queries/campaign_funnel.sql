-- subject: throughput
-- title: Campaign funnel
-- grain: one row per campaign, those with the earliest target date first
-- about: How far each campaign is: articles planned (the campaign's own number), order items assigned, articles begun, with a brief, with a draft, published (by status or with a live address) and ended otherwise. A campaign is late when its target date is before the snapshot and fewer articles are published than planned or begun, ended ones aside. Deleted campaigns and articles are left out.
-- param: published VARCHAR published,live -- status prefixes that mean published, separated by commas
-- param: ended VARCHAR cancelled,canceled,rejected,archived -- status prefixes that mean ended without being published
WITH steps AS (
    SELECT
        campaign_id,
        count(*)                                           AS articles,
        count(brief_doc_url)                               AS with_brief,
        count(draft_doc_url)                               AS with_draft,
        count(*) FILTER (is_published)                     AS published,
        count(*) FILTER (is_ended AND NOT is_published)    AS ended
    FROM (
        SELECT
            *,
            live_url IS NOT NULL OR list_contains(string_split($published, ','), status_prefix) IS TRUE AS is_published,
            list_contains(string_split($ended, ','), status_prefix) IS TRUE                             AS is_ended
        FROM mart.article_progress
    )
    GROUP BY campaign_id
),
assigned AS (
    SELECT campaign_id, count(*) AS order_items FROM profile_order_items GROUP BY campaign_id
)
SELECT
    c.id                              AS campaign_id,
    c.name                            AS campaign_name,
    coalesce(p.name, c.profile_name)  AS profile_name,
    c.status                          AS campaign_status,
    c.target_date,
    coalesce(c.target_date < (SELECT snapshot_at FROM mart.snapshot), false)
        AND coalesce(s.published, 0) < greatest(coalesce(c.total_articles, 0), coalesce(s.articles, 0)) - coalesce(s.ended, 0) AS is_late,
    c.total_articles                  AS planned_articles,
    coalesce(a.order_items, 0)        AS order_items,
    coalesce(s.articles, 0)           AS articles,
    coalesce(s.with_brief, 0)         AS with_brief,
    coalesce(s.with_draft, 0)         AS with_draft,
    coalesce(s.published, 0)          AS published,
    coalesce(s.ended, 0)              AS ended,
    CAST(100 * s.published / nullif(s.articles, 0) AS DECIMAL(38, 1)) AS published_percent
FROM campaigns AS c
LEFT JOIN steps AS s ON s.campaign_id = c.id
LEFT JOIN assigned AS a ON a.campaign_id = c.id
LEFT JOIN profiles AS p ON p.id = c.profile_id
WHERE c.deleted_at IS NULL
ORDER BY c.target_date NULLS LAST, c.id
