-- subject: placements
-- title: New and withdrawn listings
-- grain: one row per day that has a snapshot
-- about: New, withdrawn and returned product listings, by the day of the snapshot that showed the change. A listing that comes back after a withdrawal counts as returned. Listings of the first snapshot are not counted as new. The column net is the number of new and returned listings less the withdrawn ones. listings_at_end is the number of listings in the last snapshot of the day.
-- also: came, left, gone, churn, added, removed, vanished, catalog size, growth
-- chart: line x=day y=listings_at_end
-- param: since DATE? snapshot-30d -- only days on or after this date
-- param: until DATE NULL -- only days before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which days begin, such as America/New_York
WITH days AS (
    SELECT DISTINCT CAST(snapshot_at AT TIME ZONE CAST($timezone AS VARCHAR) AS DATE) AS day
    FROM meta.runs
    WHERE snapshot_at IS NOT NULL
      AND ($since IS NULL OR snapshot_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
event_counts AS (
    SELECT
        CAST(happened_at AT TIME ZONE CAST($timezone AS VARCHAR) AS DATE) AS day,
        count(*) FILTER (event = 'new')       AS new_listings,
        count(*) FILTER (event = 'returned')  AS returned_listings,
        count(*) FILTER (event = 'withdrawn') AS withdrawn_listings
    FROM mart.listing_events
    WHERE $since IS NULL OR happened_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)
    GROUP BY ALL
),
day_counts AS (
    SELECT
        d.day,
        coalesce(e.new_listings, 0)       AS new_listings,
        coalesce(e.returned_listings, 0)  AS returned_listings,
        coalesce(e.withdrawn_listings, 0) AS withdrawn_listings,
        coalesce(e.new_listings + e.returned_listings - e.withdrawn_listings, 0) AS net
    FROM days AS d
    LEFT JOIN event_counts AS e USING (day)
)
SELECT
    day,
    new_listings,
    returned_listings,
    withdrawn_listings,
    net,
    -- The current number of listings, less the changes of all later days.
    CAST((SELECT count(*) FROM product_listings) + net - sum(net) OVER (ORDER BY day DESC) AS BIGINT) AS listings_at_end
FROM day_counts
-- This condition is in QUALIFY, because the sum above also needs the days after $until.
QUALIFY $until IS NULL OR day < CAST($until AS DATE)
ORDER BY day
