-- subject: throughput
-- title: Articles by current status
-- grain: one row per current status (by its stable prefix)
-- about: Articles by their status at the snapshot, and the time since they entered this status, in days of 24 hours. The median is a duration that occurred. waits_for is the party that has to act next; it is empty if the configuration names no party for the status. If the history of an article has no time for the status, the article is counted, but left out of the durations. An article begins when it is created, or when it enters its first status if the creation time is unknown. Deleted articles are left out.
-- also: pipeline, count, stage, workflow, stuck
-- chart: bar x=status_name y=articles
-- heading: status_prefix Status code
-- heading: p50_days_in_status Days in the status, median
-- heading: oldest_days Days in the status, longest
-- param: since DATE NULL -- only articles that began on or after this date
-- param: until DATE NULL -- only articles that began before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
WITH current_stays AS (
    SELECT
        status_prefix,
        status_name,
        waits_for,
        status_since,
        epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(status_since) AS stay_micros
    FROM mart.article_progress
    WHERE ($since IS NULL OR started_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR started_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
)
SELECT
    status_prefix,
    CASE WHEN status_prefix IS NULL THEN '(not stated)'
        ELSE arg_max(status_name, (coalesce(status_since, TIMESTAMPTZ '-infinity'), status_name)) END AS status_name,
    max(waits_for)                                                    AS waits_for,
    count(*)                                                          AS articles,
    CAST(quantile_disc(stay_micros, 0.5) / 86400e6 AS DECIMAL(18, 2)) AS p50_days_in_status,
    CAST(max(stay_micros) / 86400e6 AS DECIMAL(18, 2))                AS oldest_days
FROM current_stays
GROUP BY status_prefix
ORDER BY articles DESC, status_prefix
