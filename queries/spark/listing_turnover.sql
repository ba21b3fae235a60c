-- New and withdrawn listings
WITH params AS (
    SELECT
        CAST((SELECT convert_timezone(current_timezone(), 'UTC', CAST(snapshot_at AS TIMESTAMP_NTZ)) - INTERVAL 30 DAYS FROM ${mart}.snapshot) AS DATE) AS since,
        CAST('UTC' AS STRING) AS timezone
),
bound AS (
    SELECT
        timezone,
        CAST(convert_timezone(timezone, current_timezone(), CAST(since AS TIMESTAMP_NTZ)) AS TIMESTAMP) AS since
    FROM params
),
days AS (
    SELECT DISTINCT CAST(convert_timezone(current_timezone(), b.timezone, CAST(r.snapshot_at AS TIMESTAMP_NTZ)) AS DATE) AS day
    FROM ${meta}.runs AS r
    CROSS JOIN bound AS b
    WHERE r.snapshot_at IS NOT NULL AND (b.since IS NULL OR r.snapshot_at >= b.since)
),
happened AS (
    SELECT
        CAST(convert_timezone(current_timezone(), b.timezone, CAST(e.happened_at AS TIMESTAMP_NTZ)) AS DATE) AS day,
        e.event
    FROM ${mart}.listing_events AS e
    CROSS JOIN bound AS b
    WHERE b.since IS NULL OR e.happened_at >= b.since
),
events AS (
    SELECT
        day,
        count(*) FILTER (WHERE event = 'new')       AS arrived,
        count(*) FILTER (WHERE event = 'returned')  AS returned,
        count(*) FILTER (WHERE event = 'withdrawn') AS withdrawn
    FROM happened
    GROUP BY day
),
counted AS (
    SELECT
        d.day,
        coalesce(e.arrived, 0)   AS arrived,
        coalesce(e.returned, 0)  AS returned,
        coalesce(e.withdrawn, 0) AS withdrawn,
        coalesce(e.arrived + e.returned - e.withdrawn, 0) AS net
    FROM days AS d
    LEFT JOIN events AS e ON e.day = d.day
)
SELECT
    c.day,
    c.arrived   AS new_listings,
    c.returned  AS returned_listings,
    c.withdrawn AS withdrawn_listings,
    c.net,
    l.listings + c.net - sum(c.net) OVER (ORDER BY c.day DESC) AS listings_at_end
FROM counted AS c
CROSS JOIN (SELECT count(*) AS listings FROM ${current}.product_listings) AS l
ORDER BY c.day
