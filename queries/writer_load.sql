-- subject: throughput
-- title: Workload of writers
-- grain: one row per writer, and one for articles without a writer
-- about: Current and recently finished articles of each writer. Open articles are neither published nor ended; the columns in_revision and overdue count only open articles. The days to publish are the time from the start of an article to its first publication, for articles published in the period, in days of 24 hours; the median is a duration that occurred.
-- param: days COUNT 30 -- length of the period in days, if "since" is not set
-- param: since DATE NULL -- the period begins on this date
-- param: until DATE NULL -- the period ends before this date; NULL means at the snapshot
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: published VARCHAR published,live -- status prefixes that mean published, separated by commas
-- param: ended VARCHAR cancelled,canceled,rejected,archived -- status prefixes that mean ended without being published
-- param: revision VARCHAR revision_requested -- status prefixes that mean that a revision was requested, separated by commas
WITH period AS (
    SELECT
        snapshot_at,
        -- The last and the first microsecond of the period.
        least(CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR) - INTERVAL 1 MICROSECOND, snapshot_at) AS last_at,
        coalesce(CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR),
            last_at - to_hours(24 * $days) + INTERVAL 1 MICROSECOND) AS first_at
    FROM mart.snapshot
),
publications AS (
    SELECT article_id, min(began_at) AS published_at
    FROM mart.article_stays
    WHERE list_contains(string_split($published, ','), status_prefix)
    GROUP BY article_id
),
article_loads AS (
    SELECT
        p.*,
        p.live_url IS NULL
            AND list_contains(string_split($published || ',' || $ended, ','), p.status_prefix) IS NOT TRUE AS is_open,
        publications.published_at BETWEEN period.first_at AND period.last_at AS is_published_in_period,
        epoch_us(publications.published_at) - epoch_us(p.started_at)         AS publish_micros,
        period.snapshot_at
    FROM mart.article_progress AS p
    LEFT JOIN publications USING (article_id)
    CROSS JOIN period
)
SELECT
    writer_id,
    CASE WHEN writer_id IS NULL THEN '(not stated)'
        ELSE arg_max(writer_name, (coalesce(started_at, TIMESTAMPTZ '-infinity'), writer_name)) END AS writer_name,
    count(*)                                                AS articles,
    count(*) FILTER (is_open)                               AS open_articles,
    count(*) FILTER (is_open AND list_contains(string_split($revision, ','), status_prefix)) AS in_revision,
    count(*) FILTER (is_open AND expected_at < snapshot_at) AS overdue,
    count(*) FILTER (is_published_in_period)                AS published_recently,
    CAST(quantile_disc(publish_micros, 0.5) FILTER (is_published_in_period AND publish_micros >= 0) / 86400e6 AS DECIMAL(18, 2)) AS p50_days_to_publish
FROM article_loads
GROUP BY writer_id
ORDER BY open_articles DESC, writer_id
