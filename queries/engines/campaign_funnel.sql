-- Campaign funnel
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST('published,live' AS {{text}}) AS published,
        CAST('cancelled,canceled,rejected,archived' AS {{text}}) AS ended
),
article_states AS (
    SELECT
        p.campaign_id,
        p.brief_doc_url,
        p.draft_doc_url,
        p.live_url IS NOT NULL OR coalesce({{has "split(params.published, ',')" "p.status_prefix"}}, false) AS is_published,
        coalesce({{has "split(params.ended, ',')" "p.status_prefix"}}, false)                               AS is_ended
    FROM ${mart}.article_progress AS p
    CROSS JOIN params
),
article_counts AS (
    SELECT
        campaign_id,
        count(*)                                                 AS articles,
        count(brief_doc_url)                                     AS with_brief,
        count(draft_doc_url)                                     AS with_draft,
        count(*) FILTER (WHERE is_published)                     AS published,
        count(*) FILTER (WHERE is_ended AND NOT is_published)    AS ended
    FROM article_states
    GROUP BY campaign_id
),
item_counts AS (
    SELECT campaign_id, count(*) AS order_items FROM ${current}.profile_order_items GROUP BY campaign_id
),
-- A campaign needs the larger number of planned and begun articles, minus the ended articles. It is open if
-- fewer articles are published.
campaign_counts AS (
    SELECT
        c.id                              AS campaign_id,
        c.name                            AS campaign_name,
        coalesce(p.name, c.profile_name)  AS profile_name,
        c.status                          AS campaign_status,
        c.target_date,
        c.total_articles                  AS planned_articles,
        coalesce(i.order_items, 0)        AS order_items,
        coalesce(a.articles, 0)           AS articles,
        coalesce(a.with_brief, 0)         AS with_brief,
        coalesce(a.with_draft, 0)         AS with_draft,
        coalesce(a.published, 0)          AS published,
        coalesce(a.ended, 0)              AS ended,
        coalesce(c.target_date < n.snapshot_at, false) AS is_past_target,
        coalesce(a.published, 0) < greatest(coalesce(c.total_articles, 0), coalesce(a.articles, 0)) - coalesce(a.ended, 0) AS is_open
    FROM ${current}.campaigns AS c
    CROSS JOIN ${mart}.snapshot AS n
    CROSS JOIN params
    LEFT JOIN article_counts AS a ON a.campaign_id = c.id
    LEFT JOIN item_counts AS i ON i.campaign_id = c.id
    LEFT JOIN ${current}.profiles AS p ON p.id = c.profile_id
    WHERE c.deleted_at IS NULL
      AND (params.since IS NULL
        OR c.created_at >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR c.created_at < {{midnight "params.until" "params.timezone"}})
),
-- Late campaigns come first, then other unfinished campaigns by target date, and finished campaigns last.
campaign_states AS (
    SELECT
        *,
        is_past_target AND is_open AS is_late,
        CASE WHEN is_past_target AND is_open THEN 1 WHEN is_open OR articles = 0 THEN 2 ELSE 3 END AS sort_group
    FROM campaign_counts
)
SELECT
    campaign_id,
    campaign_name,
    profile_name,
    campaign_status,
    target_date,
    is_late,
    planned_articles,
    order_items,
    articles,
    with_brief,
    with_draft,
    published,
    ended,
    CAST(round(CAST(100 * published AS DOUBLE) / nullif(articles, 0) * 10) / 10 AS DECIMAL(38, 1)) AS published_percent
FROM campaign_states
ORDER BY sort_group, CASE WHEN sort_group < 3 THEN target_date END NULLS LAST, target_date DESC NULLS LAST, campaign_id
