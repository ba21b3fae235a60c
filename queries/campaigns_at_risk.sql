-- subject: throughput
-- title: Campaigns at risk
-- grain: one row per campaign that has late articles, or is forecast to exceed its budget or to miss a date, the nearest target date first
-- about: Budget and dates of unfinished campaigns. projected_total is the sum of the sales without refunded items, plus the average sale price for each planned article that has not begun. An article is forecast to take the usual time from start to first publication: the median of the articles that were published at most "days" days before the snapshot. The column pace_days shows this time. past_promise and past_expected count the articles that are late at the snapshot, as in overdue_articles. forecast_past_promise counts the open articles that are in time but forecast to miss their promised date, and forecast_past_target the articles that are forecast for a time after the target date of the campaign.
-- also: late, delay, overdue, forecast, deadline, budget, overspend, danger, behind, risk
-- columns: first campaign_name target_date open_articles budget projected_total over_budget profile_name
-- param: days COUNT 90 -- number of days before the snapshot whose publications determine the usual time
-- param: profile VARCHAR NULL -- only campaigns of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: over STATUSES statuses.campaigns_ended -- campaign statuses that mean finished, in upper or lower case, separated by commas
-- param: top COUNT NULL -- maximum number of rows
-- The pace is the median time from start to publication, of the articles that were published in the
-- last $days days. Without such articles it is 0.
WITH pace AS (
    SELECT quantile_disc(epoch_us(p.published_at) - epoch_us(p.started_at), 0.5) AS pace_micros
    FROM mart.article_progress AS p
    CROSS JOIN mart.snapshot AS s
    WHERE p.published_at >= p.started_at AND p.published_at > s.snapshot_at - to_hours(24 * $days) AND p.published_at <= s.snapshot_at
),
clock AS (
    SELECT snapshot_at AS now, coalesce(pace_micros, 0) AS pace_micros, snapshot_at + to_microseconds(coalesce(pace_micros, 0)) AS not_begun_forecast_at
    FROM mart.snapshot
    CROSS JOIN pace
),
-- An open article is forecast for its start plus the pace, but not before the snapshot. The sale
-- price of an item counts only for its first article in a campaign.
article_forecasts AS (
    SELECT
        p.campaign_id,
        p.state = 'open' AS is_open,
        greatest(c.now, p.started_at + to_microseconds(c.pace_micros)) AS forecast_at,
        l.past_promise,
        l.past_expected,
        l.past_promise IS NOT TRUE AND NOT s.is_refunded AND forecast_at > s.promised_at AS will_miss_promise,
        CASE WHEN NOT s.is_refunded
            AND row_number() OVER (PARTITION BY p.campaign_id, s.order_item_id ORDER BY p.article_id) = 1 THEN s.sale_price END AS sale_price
    FROM mart.article_progress AS p
    LEFT JOIN mart.sold_items AS s USING (order_item_id)
    LEFT JOIN mart.late_articles AS l ON l.article_id = p.article_id
    CROSS JOIN clock AS c
),
open_campaigns AS (
    SELECT
        c.id                             AS campaign_id,
        c.name                           AS campaign_name,
        coalesce(p.name, c.profile_name) AS profile_name,
        c.status                         AS campaign_status,
        c.target_date,
        c.budget,
        c.total_articles
    FROM campaigns AS c
    LEFT JOIN profiles AS p ON p.id = c.profile_id
    WHERE c.deleted_at IS NULL
      AND list_contains(string_split(lower($over), ','), lower(c.status)) IS NOT TRUE
      AND ($profile IS NULL OR $profile IN (c.profile_id, p.name, c.profile_name))
),
campaign_counts AS (
    SELECT
        o.*,
        count(f.campaign_id)                                          AS articles,
        count(*) FILTER (f.is_open)                                   AS open_articles,
        count(*) FILTER (f.past_promise)                              AS past_promise,
        count(*) FILTER (f.past_expected)                             AS past_expected,
        count(*) FILTER (f.is_open AND f.will_miss_promise)           AS forecast_past_promise,
        count(*) FILTER (f.is_open AND f.forecast_at > o.target_date) AS open_past_target,
        max(f.forecast_at) FILTER (f.is_open)                         AS open_forecast_at,
        coalesce(sum(f.sale_price), 0)                                AS sales,
        count(f.sale_price)                                           AS priced_articles
    FROM open_campaigns AS o
    LEFT JOIN article_forecasts AS f USING (campaign_id)
    GROUP BY ALL
),
-- Articles that have not begun are forecast for the snapshot plus the pace.
campaign_forecasts AS (
    SELECT
        campaign_counts.*,
        greatest(total_articles, articles) - articles                                                   AS not_begun,
        open_past_target + CASE WHEN clock.not_begun_forecast_at > campaign_counts.target_date THEN not_begun ELSE 0 END AS forecast_past_target,
        sales + coalesce(CAST(sales / nullif(priced_articles, 0) * not_begun AS DECIMAL(38, 6)), 0)     AS projected,
        CASE WHEN not_begun > 0 THEN greatest(clock.not_begun_forecast_at, open_forecast_at) ELSE open_forecast_at END AS forecast_at,
        clock.pace_micros
    FROM campaign_counts
    CROSS JOIN clock
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
    past_promise,
    past_expected,
    forecast_past_promise,
    forecast_past_target,
    CAST(pace_micros / 86400e6 AS DECIMAL(18, 2)) AS pace_days,
    CAST(budget AS DECIMAL(18, 2))                AS budget,
    CAST(sales AS DECIMAL(38, 2))                 AS sale_total,
    CAST(projected AS DECIMAL(38, 2))             AS projected_total,
    CAST(CASE WHEN projected > budget THEN projected - budget END AS DECIMAL(38, 2)) AS over_budget
FROM campaign_forecasts
WHERE past_promise > 0 OR past_expected > 0 OR forecast_past_promise > 0 OR forecast_past_target > 0 OR projected > budget
ORDER BY target_date NULLS LAST, campaign_id
LIMIT $top
