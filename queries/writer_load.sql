-- subject: throughput
-- title: Workload of writers
-- grain: one row per writer, and one for articles without a writer
-- about: Current and recently finished articles of each writer. Open articles are neither published nor ended; the columns in_revision, past_promise and past_expected count only open articles. past_promise counts the articles that are past their promised date, past_expected those past the expected date that the service states, as in overdue_articles. The days to publish are the time from the start of an article to its first publication, for articles published in the period, in days of 24 hours; the median is a duration that occurred.
-- also: author, capacity, busy, assignment, staff, workload, overdue, team
-- chart: bar x=writer_name y=open_articles
-- heading: p50_days_to_publish Days from start to publication, median
-- param: days COUNT 30 -- length of the period in days, if "since" is not set
-- param: since DATE NULL -- the period begins on this date
-- param: until DATE NULL -- the period ends before this date; NULL means at the snapshot
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
WITH period AS (
    SELECT
        -- The last and the first microsecond of the period.
        least(CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR) - INTERVAL 1 MICROSECOND, snapshot_at) AS last_at,
        coalesce(CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR),
            last_at - to_hours(24 * $days) + INTERVAL 1 MICROSECOND) AS first_at
    FROM mart.snapshot
),
article_loads AS (
    SELECT
        p.*,
        p.state = 'open' AS is_open,
        p.published_at BETWEEN period.first_at AND period.last_at AS is_published_in_period,
        epoch_us(p.published_at) - epoch_us(p.started_at)         AS publish_micros,
        l.past_promise,
        l.past_expected
    FROM mart.article_progress AS p
    LEFT JOIN mart.late_articles AS l USING (article_id)
    CROSS JOIN period
)
SELECT
    writer_id,
    CASE WHEN writer_id IS NULL THEN '(not stated)'
        ELSE arg_max(writer_name, (coalesce(started_at, TIMESTAMPTZ '-infinity'), writer_name)) END AS writer_name,
    count(*)                                                AS articles,
    count(*) FILTER (is_open)                               AS open_articles,
    count(*) FILTER (is_open AND status_prefix IN (SELECT prefix FROM meta.statuses WHERE is_revision)) AS in_revision,
    count(*) FILTER (past_promise)                          AS past_promise,
    count(*) FILTER (past_expected)                         AS past_expected,
    count(*) FILTER (is_published_in_period)                AS published_recently,
    CAST(quantile_disc(publish_micros, 0.5) FILTER (is_published_in_period AND publish_micros >= 0) / 86400e6 AS DECIMAL(18, 2)) AS p50_days_to_publish
FROM article_loads
GROUP BY writer_id
ORDER BY open_articles DESC, writer_id
