-- subject: throughput
-- title: Delivery against the promised date
-- grain: one row per outlet, writer, client profile or type of channel, as chosen with "by", and one for articles without a group
-- about: Articles that were first published in the period, compared with the promised date: payment of the order plus the longest delivery time of the item. on_time counts the articles that were published by that date. Days run from payment to publication; p50 and p90 are durations that occurred. open_past_promise counts the open articles that are past their promised date, and open_past_expected those past the expected date that the service states, as in overdue_articles. The type of channel is taken from the bought listing, or else from the first placement that the item includes. Deleted articles and items are left out.
-- also: on time, late, punctual, promise, SLA, delay, speed, days, overdue, outlets, writers
-- columns: first group_name on_time_percent p50_days open_past_promise open_past_expected published articles
-- chart: bar x=group_name y=on_time_percent
-- heading: p50_promised_days Promised days, median
-- heading: p50_days Days from payment to publication, median
-- heading: p90_days Days from payment to publication, 90th percentile
-- heading: p50_days_late Days late, median
-- heading: on_time_percent On time, %
-- param: by outlet|writer|profile|channel_type outlet -- grouping of the rows
-- param: days COUNT 90 -- length of the period in days, if "since" is not set
-- param: since DATE NULL -- the period begins on this date
-- param: until DATE NULL -- the period ends before this date; NULL means at the snapshot
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
WITH period AS (
    SELECT
        -- The last and the first microsecond of the period.
        least(CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR) - INTERVAL 1 MICROSECOND, snapshot_at) AS last_at,
        coalesce(CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR),
            last_at - to_hours(24 * $days) + INTERVAL 1 MICROSECOND) AS first_at,
        -- NULL if the period is empty.
        nullif(greatest(0, epoch_us(last_at) - epoch_us(first_at) + 1), 0) / 86400e6 AS period_days
    FROM mart.snapshot
),
listing_channel_types AS (
    SELECT id, arg_max(channel_type, valid_from) AS channel_type FROM history.product_listings GROUP BY id
),
include_channel_types AS (
    SELECT article_id, arg_min(channel_type, position) AS channel_type FROM campaign_article_includes GROUP BY article_id
),
deliveries AS (
    SELECT
        coalesce(t.channel_type, f.channel_type) AS article_channel_type,
        CASE $by
            WHEN 'outlet' THEN p.outlet_id
            WHEN 'writer' THEN p.writer_id
            WHEN 'profile' THEN p.profile_id
            ELSE article_channel_type
        END AS group_id,
        CASE $by
            WHEN 'outlet' THEN p.outlet_name
            WHEN 'writer' THEN p.writer_name
            WHEN 'profile' THEN p.profile_name
            ELSE article_channel_type
        END AS group_name,
        p.started_at,
        p.state = 'open' AS is_open,
        p.published_at BETWEEN period.first_at AND period.last_at AS is_published_in_period,
        epoch_us(p.published_at) - epoch_us(s.paid_at)            AS delivery_micros,
        epoch_us(s.promised_at) - epoch_us(s.paid_at)             AS promised_micros,
        epoch_us(p.published_at) - epoch_us(s.promised_at)        AS late_micros,
        late.past_promise,
        late.past_expected
    FROM mart.article_progress AS p
    LEFT JOIN mart.sold_items AS s ON s.order_item_id = p.order_item_id
    LEFT JOIN listing_channel_types AS t ON t.id = s.product_id
    LEFT JOIN include_channel_types AS f ON f.article_id = p.article_id
    LEFT JOIN mart.late_articles AS late ON late.article_id = p.article_id
    CROSS JOIN period
),
groups AS (
    SELECT
        group_id,
        -- the name in the article that was started last; of equal times, the last in the alphabet
        CASE WHEN group_id IS NULL THEN '(not stated)'
            ELSE arg_max(group_name, (coalesce(started_at, TIMESTAMPTZ '-infinity'), group_name)) END AS group_name,
        count(*)                                                                                            AS articles,
        count(*) FILTER (is_open)                                                                           AS open_articles,
        count(*) FILTER (past_promise)                                                                      AS open_past_promise,
        count(*) FILTER (past_expected)                                                                     AS open_past_expected,
        count(*) FILTER (is_published_in_period)                                                            AS published,
        count(late_micros) FILTER (is_published_in_period)                                                  AS with_promise,
        count(*) FILTER (is_published_in_period AND late_micros <= 0)                                       AS on_time,
        quantile_disc(promised_micros, 0.5) FILTER (is_published_in_period)                                 AS promised_micros,
        quantile_disc(delivery_micros, [0.5, 0.9]) FILTER (is_published_in_period AND delivery_micros >= 0) AS delivery_quantiles,
        quantile_disc(late_micros, 0.5) FILTER (is_published_in_period AND late_micros > 0)                 AS late_micros
    FROM deliveries
    GROUP BY group_id
)
SELECT
    group_id,
    group_name,
    articles,
    open_articles,
    open_past_promise,
    open_past_expected,
    published,
    CAST(7 * published / (SELECT period_days FROM period) AS DECIMAL(18, 2)) AS published_per_week,
    with_promise                                               AS published_with_promise,
    on_time,
    CAST(100 * on_time / nullif(with_promise, 0) AS DECIMAL(38, 1)) AS on_time_percent,
    CAST(promised_micros / 86400e6 AS DECIMAL(18, 2))       AS p50_promised_days,
    CAST(delivery_quantiles[1] / 86400e6 AS DECIMAL(18, 2)) AS p50_days,
    CAST(delivery_quantiles[2] / 86400e6 AS DECIMAL(18, 2)) AS p90_days,
    CAST(late_micros / 86400e6 AS DECIMAL(18, 2))           AS p50_days_late
FROM groups
ORDER BY published DESC, articles DESC, group_id
LIMIT $top
