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
    SELECT {{sorted "l.published_us - a.started_us"}} AS sorted
    FROM publications AS l
    JOIN (SELECT article_id, {{micros "started_at"}} AS started_us FROM ${mart}.article_progress) AS a ON a.article_id = l.article_id
    CROSS JOIN (SELECT {{micros "snapshot_at"}} AS now_us FROM ${mart}.snapshot) AS n
    CROSS JOIN params
    WHERE l.published_us >= a.started_us
      AND l.published_us > n.now_us - 86400000000 * params.days AND l.published_us <= n.now_us
),
-- Without a publication in the window the pace is 0.
clock AS (
    SELECT
        {{micros "n.snapshot_at"}} AS now_us,
        coalesce({{nth "d.sorted" "0.5" (size "d.sorted")}}, 0) AS pace_us
    FROM ${mart}.snapshot AS n
    CROSS JOIN durations AS d
),
-- An open article is expected at its start plus the pace, but not before the snapshot.
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
        g.id                             AS campaign_id,
        g.name                           AS campaign_name,
        coalesce(p.name, g.profile_name) AS profile_name,
        g.status                         AS campaign_status,
        g.target_date,
        {{micros "g.target_date"}}       AS target_us,
        g.budget,
        coalesce(g.total_articles, 0)    AS planned
    FROM ${current}.campaigns AS g
    CROSS JOIN params
    LEFT JOIN ${current}.profiles AS p ON p.id = g.profile_id
    WHERE g.deleted_at IS NULL
      AND NOT coalesce({{has "split(lower(params.over), ',')" "lower(g.status)"}}, false)
      AND (params.profile IS NULL OR params.profile = g.profile_id OR params.profile = p.name OR params.profile = g.profile_name)
),
campaign_counts AS (
    SELECT
        k.campaign_id,
        greatest(max(k.planned) - count(w.campaign_id), 0)                     AS not_begun,
        count(*) FILTER (WHERE w.is_open)                                      AS open_articles,
        count(*) FILTER (WHERE w.is_open AND w.forecast_us > k.target_us)      AS open_late,
        count(*) FILTER (WHERE w.is_open AND w.forecast_us > w.promised_us)    AS late_for_promise,
        max(w.forecast_us) FILTER (WHERE w.is_open)                            AS open_forecast_us,
        coalesce(sum(w.sale_price), 0)                                         AS sales,
        count(w.sale_price)                                                    AS priced
    FROM open_campaigns AS k
    LEFT JOIN article_forecasts AS w ON w.campaign_id = k.campaign_id
    GROUP BY k.campaign_id
),
-- Articles that have not begun are expected at the snapshot plus the pace.
campaign_forecasts AS (
    SELECT
        k.*,
        n.not_begun,
        n.open_articles,
        n.late_for_promise,
        n.open_late + CASE WHEN c.now_us + c.pace_us > k.target_us THEN n.not_begun ELSE 0 END AS late_for_target,
        n.sales,
        n.sales + coalesce(CAST(round(CAST(n.sales * n.not_begun AS DOUBLE) / nullif(n.priced, 0) * 1e6) / 1e6 AS DECIMAL(28, 6)), 0) AS projected,
        CASE WHEN n.not_begun > 0 THEN greatest(c.now_us + c.pace_us, coalesce(n.open_forecast_us, c.now_us)) ELSE n.open_forecast_us END AS forecast_us,
        c.pace_us
    FROM open_campaigns AS k
    JOIN campaign_counts AS n ON n.campaign_id = k.campaign_id
    CROSS JOIN clock AS c
),
ranked AS (
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
FROM ranked AS r
CROSS JOIN params
WHERE params.top IS NULL OR r.rank <= params.top
ORDER BY r.rank
