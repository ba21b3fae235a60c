-- subject: throughput
-- title: Campaign funnel
-- grain: one row per campaign; campaigns past their target date first, finished campaigns last
-- about: Progress of each campaign: planned articles, order items, and articles that are begun, have a brief or draft, are published (by status or live address) or ended unpublished. is_past_target means that the target date is past and articles are missing. The campaign needs the planned or the begun articles, whichever are more, less the ended articles. The query overdue_articles lists late articles. Deleted campaigns are left out.
-- also: progress, pipeline, brief, draft, published, stage, late
-- columns: first campaign_name published articles planned_articles published_percent target_date is_past_target profile_name
-- chart: bar x=campaign_name y=published_percent
-- param: since DATE NULL -- only campaigns created on or after this date
-- param: until DATE NULL -- only campaigns created before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
WITH article_counts AS (
    SELECT
        campaign_id,
        count(*)                               AS articles,
        count(brief_doc_url)                   AS with_brief,
        count(draft_doc_url)                   AS with_draft,
        count(*) FILTER (state = 'published')  AS published,
        count(*) FILTER (state = 'ended')      AS ended
    FROM mart.article_progress
    GROUP BY campaign_id
),
item_counts AS (
    SELECT campaign_id, count(*) AS order_items FROM profile_order_items GROUP BY campaign_id
),
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
        coalesce(c.target_date < (SELECT snapshot_at FROM mart.snapshot), false) AS target_date_passed,
        coalesce(a.published, 0) < greatest(coalesce(c.total_articles, 0), coalesce(a.articles, 0)) - coalesce(a.ended, 0) AS is_open
    FROM campaigns AS c
    LEFT JOIN article_counts AS a ON a.campaign_id = c.id
    LEFT JOIN item_counts AS i ON i.campaign_id = c.id
    LEFT JOIN profiles AS p ON p.id = c.profile_id
    WHERE c.deleted_at IS NULL
      AND ($since IS NULL OR c.created_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR c.created_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
campaign_states AS (
    SELECT
        *,
        target_date_passed AND is_open AS is_past_target,
        CASE
            WHEN is_past_target THEN 1
            WHEN is_open OR articles = 0 THEN 2 -- a campaign without articles is not finished
            ELSE 3
        END AS sort_group
    FROM campaign_counts
)
SELECT
    campaign_id,
    campaign_name,
    profile_name,
    campaign_status,
    target_date,
    is_past_target,
    planned_articles,
    order_items,
    articles,
    with_brief,
    with_draft,
    published,
    ended,
    CAST(100 * published / nullif(articles, 0) AS DECIMAL(38, 1)) AS published_percent
FROM campaign_states
-- Campaigns past their target date, then the others that are not finished: earliest target date first. Then the
-- finished campaigns: latest target date first.
ORDER BY
    sort_group,
    CASE WHEN sort_group < 3 THEN target_date END NULLS LAST,
    target_date DESC NULLS LAST,
    campaign_id
