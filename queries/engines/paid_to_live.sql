-- From order paid to live
WITH params AS (
    SELECT
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('published,live' AS {{text}}) AS published
),
publications AS (
    SELECT s.article_id, min(s.began_at) AS published_at
    FROM ${mart}.article_stays AS s
    CROSS JOIN params
    WHERE {{has "split(params.published, ',')" "s.status_prefix"}}
    GROUP BY s.article_id
),
-- Articles published before the payment are counted, but left out of the durations.
publication_times AS (
    SELECT
        {{month (local_date "publications.published_at" "params.timezone")}} AS month,
        p.order_paid_at IS NULL                     AS has_no_payment_time,
        publications.published_at < p.order_paid_at AS is_before_payment,
        CASE WHEN publications.published_at >= p.order_paid_at THEN {{micros "publications.published_at"}} - {{micros "p.order_paid_at"}} END AS micros_to_publication,
        CASE WHEN publications.published_at >= p.order_paid_at THEN {{micros "p.started_at"}} - {{micros "p.order_paid_at"}} END   AS micros_to_start,
        params.since,
        params.until
    FROM publications
    JOIN ${mart}.article_progress AS p ON p.article_id = publications.article_id
    CROSS JOIN params
),
months AS (
    SELECT
        month,
        count(*)                                    AS articles,
        count(*) FILTER (WHERE has_no_payment_time) AS without_payment,
        count(*) FILTER (WHERE is_before_payment)   AS before_payment,
        {{sorted "micros_to_publication"}}          AS sorted_micros_to_publication,
        sum(micros_to_publication)                  AS total_micros,
        {{sorted "micros_to_start"}}                AS sorted_micros_to_start
    FROM publication_times
    WHERE (since IS NULL OR month >= {{month "since"}})
      AND (until IS NULL OR month < {{month "until"}})
    GROUP BY month
)
SELECT
    month,
    articles,
    without_payment AS articles_without_payment,
    before_payment  AS articles_live_before_payment,
    CAST(round({{quantile "sorted_micros_to_publication" "0.5" (size "sorted_micros_to_publication")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days,
    CAST(round({{quantile "sorted_micros_to_publication" "0.9" (size "sorted_micros_to_publication")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p90_days,
    CAST(round(total_micros / nullif(CAST({{size "sorted_micros_to_publication"}} AS DOUBLE), 0) / 86400e6 * 100) / 100 AS DECIMAL(18, 2))         AS mean_days,
    CAST(round({{quantile "sorted_micros_to_start" "0.5" (size "sorted_micros_to_start")}} / 86400e6 * 100) / 100 AS DECIMAL(18, 2)) AS p50_days_to_start
FROM months
ORDER BY month NULLS LAST
