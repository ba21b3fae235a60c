-- Campaigns at risk
-- Columns that end in _us are times in microseconds since 1970, or durations in microseconds.
WITH params AS (
    SELECT
        CAST(90 AS BIGINT) AS days,
        CAST(NULL AS {{text}}) AS profile,
        CAST('completed,cancelled,canceled,archived' AS {{text}}) AS over,
        CAST('published,live' AS {{text}}) AS published,
        CAST('cancelled,canceled,rejected,archived' AS {{text}}) AS ended,
        CAST(NULL AS BIGINT) AS top
),
publications AS (
    SELECT s.article_id, {{micros "min(s.began_at)"}} AS published_us
    FROM ${mart}.article_stays AS s
    CROSS JOIN params
    WHERE {{has "split(params.published, ',')" "s.status_prefix"}}
    GROUP BY s.article_id
),
durations AS (
    SELECT {{sorted "publications.published_us - a.started_us"}} AS sorted_durations
    FROM publications
    JOIN (SELECT article_id, {{micros "started_at"}} AS started_us FROM ${mart}.article_progress) AS a ON a.article_id = publications.article_id
    CROSS JOIN (SELECT {{micros "snapshot_at"}} AS now_us FROM ${mart}.snapshot) AS s
    CROSS JOIN params
    WHERE publications.published_us >= a.started_us
      AND publications.published_us > s.now_us - 86400000000 * params.days AND publications.published_us <= s.now_us
),
-- The pace is the median time from start to publication, of the articles that were published at most
-- params.days days before the snapshot. Without such articles it is 0.
clock AS (
    SELECT
        {{micros "s.snapshot_at"}} AS now_us,
        coalesce({{quantile "d.sorted_durations" "0.5" (size "d.sorted_durations")}}, 0) AS pace_us
    FROM ${mart}.snapshot AS s
    CROSS JOIN durations AS d
),
-- An open article is expected at its start plus the pace, but not before the snapshot. The sale
-- price of an item counts only for its first article in a campaign.
article_forecasts AS (
    SELECT
        p.campaign_id,
        p.live_url IS NULL
            AND NOT coalesce({{has "split(params.published || ',' || params.ended, ',')" "p.status_prefix"}}, false) AS is_open,
        coalesce(greatest(c.now_us, {{micros "p.started_at"}} + c.pace_us), c.now_us)                         AS forecast_us,
        {{micros "s.promised_at"}}                                                                            AS promised_us,
        CASE WHEN NOT s.is_refunded
            AND row_number() OVER (PARTITION BY p.campaign_id, s.order_item_id ORDER BY p.article_id) = 1 THEN s.sale_price END AS sale_price
    FROM ${mart}.article_progress AS p
    LEFT JOIN ${mart}.sold_items AS s ON s.order_item_id = p.order_item_id
    CROSS JOIN clock AS c
    CROSS JOIN params
),
open_campaigns AS (
    SELECT
        c.id                             AS campaign_id,
        c.name                           AS campaign_name,
        coalesce(p.name, c.profile_name) AS profile_name,
        c.status                         AS campaign_status,
        c.target_date,
        {{micros "c.target_date"}}       AS target_us,
        c.budget,
        coalesce(c.total_articles, 0)    AS planned
    FROM ${current}.campaigns AS c
    CROSS JOIN params
    LEFT JOIN ${current}.profiles AS p ON p.id = c.profile_id
    WHERE c.deleted_at IS NULL
      AND NOT coalesce({{has "split(lower(params.over), ',')" "lower(c.status)"}}, false)
      AND (params.profile IS NULL OR params.profile = c.profile_id OR params.profile = p.name OR params.profile = c.profile_name)
),
campaign_counts AS (
    SELECT
        o.campaign_id,
        greatest(max(o.planned) - count(f.campaign_id), 0)                  AS not_begun,
        count(*) FILTER (WHERE f.is_open)                                   AS open_articles,
        count(*) FILTER (WHERE f.is_open AND f.forecast_us > o.target_us)   AS open_late_for_target,
        count(*) FILTER (WHERE f.is_open AND f.forecast_us > f.promised_us) AS late_for_promise,
        max(f.forecast_us) FILTER (WHERE f.is_open)                         AS open_forecast_us,
        coalesce(sum(f.sale_price), 0)                                      AS sales,
        count(f.sale_price)                                                 AS priced_articles
    FROM open_campaigns AS o
    LEFT JOIN article_forecasts AS f ON f.campaign_id = o.campaign_id
    GROUP BY o.campaign_id
),
-- Articles that have not begun are expected at the snapshot plus the pace.
campaign_forecasts AS (
    SELECT
        o.*,
        campaign_counts.not_begun,
        campaign_counts.open_articles,
        campaign_counts.late_for_promise,
        campaign_counts.open_late_for_target + CASE WHEN clock.now_us + clock.pace_us > o.target_us THEN campaign_counts.not_begun ELSE 0 END AS late_for_target,
        campaign_counts.sales,
        campaign_counts.sales + coalesce(CAST(round(CAST(campaign_counts.sales * campaign_counts.not_begun AS DOUBLE) / nullif(campaign_counts.priced_articles, 0) * 1e6) / 1e6 AS DECIMAL(28, 6)), 0) AS projected,
        CASE WHEN campaign_counts.not_begun > 0 THEN greatest(clock.now_us + clock.pace_us, coalesce(campaign_counts.open_forecast_us, clock.now_us)) ELSE campaign_counts.open_forecast_us END AS forecast_us,
        clock.pace_us
    FROM open_campaigns AS o
    JOIN campaign_counts ON campaign_counts.campaign_id = o.campaign_id
    CROSS JOIN clock
),
ranked_campaigns AS (
    SELECT *, row_number() OVER (ORDER BY target_date NULLS LAST, campaign_id) AS rank
    FROM campaign_forecasts
    WHERE late_for_target > 0 OR late_for_promise > 0 OR projected > budget
)
SELECT
    r.campaign_id,
    r.campaign_name,
    r.profile_name,
    r.campaign_status,
    r.target_date,
    {{from_micros "r.forecast_us"}} AS forecast_at,
    r.open_articles,
    r.not_begun,
    r.late_for_target,
    r.late_for_promise,
    CAST(round(r.pace_us / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS pace_days,
    CAST(r.budget AS DECIMAL(18, 2)) AS budget,
    CAST(r.sales AS DECIMAL(18, 2)) AS sale_total,
    CAST(r.projected AS DECIMAL(18, 2)) AS projected_total,
    CAST(CASE WHEN r.projected > r.budget THEN r.projected - r.budget END AS DECIMAL(18, 2)) AS over_budget
FROM ranked_campaigns AS r
CROSS JOIN params
WHERE params.top IS NULL OR r.rank <= params.top
ORDER BY r.rank
