-- subject: placements
-- title: New and withdrawn listings
-- grain: one row per day that has a snapshot
-- about: How the catalog of product listings came and went, by the day of the snapshot that showed it. A listing that had been withdrawn and is back counts as returned, one that was there when the history began as none of these. listings_at_end is the number at the last snapshot of the day.
-- param: since DATE? snapshot-30d -- first day
-- param: timezone TIMEZONE UTC -- time zone in which days begin, such as America/New_York
WITH days AS (
    SELECT DISTINCT CAST(snapshot_at AT TIME ZONE CAST($timezone AS VARCHAR) AS DATE) AS day
    FROM meta.runs
    WHERE snapshot_at IS NOT NULL
      AND ($since IS NULL OR snapshot_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
events AS (
    SELECT
        CAST(happened_at AT TIME ZONE CAST($timezone AS VARCHAR) AS DATE) AS day,
        count(*) FILTER (event = 'new')       AS arrived,
        count(*) FILTER (event = 'returned')  AS returned,
        count(*) FILTER (event = 'withdrawn') AS withdrawn
    FROM mart.listing_events
    WHERE $since IS NULL OR happened_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)
    GROUP BY ALL
),
counted AS (
    SELECT
        d.day,
        coalesce(e.arrived, 0)   AS arrived,
        coalesce(e.returned, 0)  AS returned,
        coalesce(e.withdrawn, 0) AS withdrawn,
        coalesce(e.arrived + e.returned - e.withdrawn, 0) AS net
    FROM days AS d
    LEFT JOIN events AS e USING (day)
)
SELECT
    day,
    arrived   AS new_listings,
    returned  AS returned_listings,
    withdrawn AS withdrawn_listings,
    net,
    CAST((SELECT count(*) FROM product_listings) + net - sum(net) OVER (ORDER BY day DESC) AS BIGINT) AS listings_at_end
FROM counted
ORDER BY day
