-- subject: throughput
-- title: Campaigns at risk
-- grain: one row per campaign that is forecast to exceed its budget or miss a date, the nearest target date first
-- about: Budget and dates of unfinished campaigns. projected_total adds to the sales, without refunded items, the average sale price for each planned article that has not begun. Articles are expected at the usual pace: the median time from start to first publication in the window. late_for_target counts the articles that are expected after the target date, late_for_promise those that are expected after their promised delivery.
-- param: days COUNT 90 -- length of the window of the pace, which ends at the snapshot, in days
-- param: profile VARCHAR NULL -- only campaigns of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: over VARCHAR completed,cancelled,canceled,archived -- campaign statuses that mean finished, in upper or lower case, separated by commas
-- param: published VARCHAR published,live -- status prefixes that mean published, separated by commas
-- param: ended VARCHAR cancelled,canceled,rejected,archived -- status prefixes that mean ended without being published
-- param: top COUNT NULL -- maximum number of rows
WITH publications AS (
    SELECT article_id, min(began_at) AS published_at
    FROM mart.article_stays
    WHERE list_contains(string_split($published, ','), status_prefix)
    GROUP BY article_id
),
-- Without a publication in the window the pace is 0.
pace AS (
    SELECT quantile_disc(epoch_us(l.published_at) - epoch_us(p.started_at), 0.5) AS micros
    FROM publications AS l
    JOIN mart.article_progress AS p USING (article_id)
    CROSS JOIN mart.snapshot AS n
    WHERE l.published_at >= p.started_at
      AND l.published_at > n.snapshot_at - to_hours(24 * $days) AND l.published_at <= n.snapshot_at
),
clock AS (
    SELECT snapshot_at AS now, coalesce(micros, 0) AS micros, snapshot_at + to_microseconds(coalesce(micros, 0)) AS forecast_at
    FROM mart.snapshot
    CROSS JOIN pace
),
-- An open article is expected at its start plus the pace, but not before the snapshot.
article_forecasts AS (
    SELECT
        p.campaign_id,
        p.live_url IS NULL
            AND list_contains(string_split($published || ',' || $ended, ','), p.status_prefix) IS NOT TRUE AS is_open,
        greatest(c.now, p.started_at + to_microseconds(c.micros))                                         AS forecast_at,
        s.promised_at,
        CASE WHEN NOT s.is_refunded
            AND row_number() OVER (PARTITION BY p.campaign_id, s.order_item_id ORDER BY p.article_id) = 1 THEN s.sale_price END AS sale_price
    FROM mart.article_progress AS p
    LEFT JOIN mart.sold_items AS s USING (order_item_id)
    CROSS JOIN clock AS c
),
open_campaigns AS (
    SELECT
        g.id                             AS campaign_id,
        g.name                           AS campaign_name,
        coalesce(p.name, g.profile_name) AS profile_name,
        g.status                         AS campaign_status,
        g.target_date,
        g.budget,
        g.total_articles
    FROM campaigns AS g
    LEFT JOIN profiles AS p ON p.id = g.profile_id
    WHERE g.deleted_at IS NULL
      AND list_contains(string_split(lower($over), ','), lower(g.status)) IS NOT TRUE
      AND ($profile IS NULL OR $profile IN (g.profile_id, p.name, g.profile_name))
),
campaign_counts AS (
    SELECT
        k.*,
        count(w.campaign_id)                                               AS articles,
        count(*) FILTER (w.is_open)                                        AS open_articles,
        count(*) FILTER (w.is_open AND w.forecast_at > k.target_date)      AS open_late,
        count(*) FILTER (w.is_open AND w.forecast_at > w.promised_at)      AS late_for_promise,
        max(w.forecast_at) FILTER (w.is_open)                              AS open_forecast_at,
        coalesce(sum(w.sale_price), 0)                                     AS sales,
        count(w.sale_price)                                                AS priced
    FROM open_campaigns AS k
    LEFT JOIN article_forecasts AS w USING (campaign_id)
    GROUP BY ALL
),
-- Articles that have not begun are expected at the snapshot plus the pace.
campaign_forecasts AS (
    SELECT
        n.*,
        greatest(coalesce(total_articles, 0) - articles, 0)                                       AS not_begun,
        open_late + CASE WHEN c.forecast_at > n.target_date THEN not_begun ELSE 0 END             AS late_for_target,
        sales + coalesce(CAST(sales * not_begun / nullif(priced, 0) AS DECIMAL(38, 6)), 0)        AS projected,
        CASE WHEN not_begun > 0 THEN greatest(c.forecast_at, open_forecast_at) ELSE open_forecast_at END AS forecast_at,
        c.micros
    FROM campaign_counts AS n
    CROSS JOIN clock AS c
)
SELECT
    campaign_id,
    campaign_name,
    profile_name,
    campaign_status,
    target_date,
    forecast_at,
    open_articles,
    not_begun,
    late_for_target,
    late_for_promise,
    CAST(micros / 86400e6 AS DECIMAL(18, 2))   AS pace_days,
    CAST(budget AS DECIMAL(18, 2))             AS budget,
    CAST(sales AS DECIMAL(18, 2))              AS sale_total,
    CAST(projected AS DECIMAL(18, 2))          AS projected_total,
    CAST(CASE WHEN projected > budget THEN projected - budget END AS DECIMAL(18, 2)) AS over_budget
FROM campaign_forecasts
WHERE late_for_target > 0 OR late_for_promise > 0 OR projected > budget
ORDER BY target_date NULLS LAST, campaign_id
LIMIT $top
