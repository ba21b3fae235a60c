-- subject: throughput
-- title: From order paid to live
-- grain: one row per month in which articles were published
-- about: Time from the payment of the order to the start of the article, and to its first publication, in days of 24 hours; p50 and p90 are durations that occurred. Articles without a known time of payment, and articles published before the payment, are counted, but left out of the durations.
-- also: turnaround, lead time, speed, publish, days, delivery, how long
-- chart: line x=month y=p50_days,p90_days
-- heading: p50_days Days from payment to live, median
-- heading: p90_days Days from payment to live, 90th percentile
-- heading: mean_days Days from payment to live, mean
-- heading: p50_days_to_start Days from payment to start, median
-- param: timezone TIMEZONE schedule.timezone -- time zone in which months begin, such as America/New_York
-- param: since DATE NULL -- only the month of this date and later months
-- param: until DATE NULL -- only months before the month of this date
WITH publication_times AS (
    SELECT
        CAST(date_trunc('month', published_at AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) AS month,
        order_paid_at IS NULL        AS has_no_payment_time,
        published_at < order_paid_at AS is_before_payment,
        CASE WHEN published_at >= order_paid_at THEN epoch_us(published_at) - epoch_us(order_paid_at) END AS micros_to_publication,
        CASE WHEN published_at >= order_paid_at THEN epoch_us(started_at) - epoch_us(order_paid_at) END   AS micros_to_start
    FROM mart.article_progress
    WHERE published_at IS NOT NULL
),
months AS (
    SELECT
        month,
        count(*)                                         AS articles,
        count(*) FILTER (has_no_payment_time)            AS without_payment,
        count(*) FILTER (is_before_payment)              AS before_payment,
        quantile_disc(micros_to_publication, [0.5, 0.9]) AS quantile_micros,
        avg(micros_to_publication)                       AS mean_micros,
        quantile_disc(micros_to_start, 0.5)              AS median_micros_to_start
    FROM publication_times
    WHERE ($since IS NULL OR month >= date_trunc('month', CAST($since AS DATE)))
      AND ($until IS NULL OR month < date_trunc('month', CAST($until AS DATE)))
    GROUP BY month
)
SELECT
    month,
    articles,
    without_payment AS articles_without_payment,
    before_payment  AS articles_live_before_payment,
    CAST(quantile_micros[1] / 86400e6 AS DECIMAL(18, 2))  AS p50_days,
    CAST(quantile_micros[2] / 86400e6 AS DECIMAL(18, 2))  AS p90_days,
    CAST(mean_micros / 86400e6 AS DECIMAL(18, 2))         AS mean_days,
    CAST(median_micros_to_start / 86400e6 AS DECIMAL(18, 2)) AS p50_days_to_start
FROM months
ORDER BY month
