-- New and withdrawn listings
WITH params AS (
    SELECT
        {{days_ago "30"}} AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone
),
period_start AS (
    SELECT
        timezone,
        {{midnight "since" "timezone"}} AS starts_at
    FROM params
),
days AS (
    SELECT DISTINCT {{local_date "r.snapshot_at" "p.timezone"}} AS day
    FROM ${meta}.runs AS r
    CROSS JOIN period_start AS p
    WHERE r.snapshot_at IS NOT NULL AND (p.starts_at IS NULL OR r.snapshot_at >= p.starts_at)
),
event_days AS (
    SELECT
        {{local_date "e.happened_at" "p.timezone"}} AS day,
        e.event
    FROM ${mart}.listing_events AS e
    CROSS JOIN period_start AS p
    WHERE p.starts_at IS NULL OR e.happened_at >= p.starts_at
),
event_counts AS (
    SELECT
        day,
        count(*) FILTER (WHERE event = 'new')       AS new_listings,
        count(*) FILTER (WHERE event = 'returned')  AS returned_listings,
        count(*) FILTER (WHERE event = 'withdrawn') AS withdrawn_listings
    FROM event_days
    GROUP BY day
),
day_counts AS (
    SELECT
        d.day,
        coalesce(e.new_listings, 0)       AS new_listings,
        coalesce(e.returned_listings, 0)  AS returned_listings,
        coalesce(e.withdrawn_listings, 0) AS withdrawn_listings,
        coalesce(e.new_listings + e.returned_listings - e.withdrawn_listings, 0) AS net
    FROM days AS d
    LEFT JOIN event_counts AS e ON e.day = d.day
),
-- The sum counts back from the current listings, so it also needs the days after params.until.
day_totals AS (
    SELECT c.*, l.listings + c.net - sum(c.net) OVER (ORDER BY c.day DESC) AS listings_at_end
    FROM day_counts AS c
    CROSS JOIN (SELECT count(*) AS listings FROM ${current}.product_listings) AS l
)
SELECT
    t.day,
    t.new_listings,
    t.returned_listings,
    t.withdrawn_listings,
    t.net,
    t.listings_at_end
FROM day_totals AS t
CROSS JOIN params
WHERE params.until IS NULL OR t.day < params.until
ORDER BY t.day
