-- When product listings appeared, were withdrawn and returned.
-- grain: one row per product listing and event
CREATE VIEW mart.listing_events AS
WITH version_bounds AS (
    SELECT id, valid_from AS happened_at, 1 AS step FROM history.product_listings
    UNION ALL
    SELECT id, valid_to, -1 FROM history.product_listings WHERE valid_to IS NOT NULL
),
-- In moves, step is 1 where a listing appears and -1 where it disappears. If a row version begins when
-- another ends, the listing only changed, and there is no move.
moves AS (
    SELECT id, happened_at, sum(step) AS step
    FROM version_bounds
    GROUP BY id, happened_at
    HAVING sum(step) <> 0
),
returned AS (
    SELECT DISTINCT m.id, m.happened_at
    FROM moves AS m
    JOIN history.product_listings AS h ON h.id = m.id AND h.valid_to < m.happened_at
    WHERE m.step > 0
)
SELECT
    happened_at,
    id AS listing_id,
    CASE
        WHEN step < 0 THEN 'withdrawn'
        WHEN r.id IS NOT NULL THEN 'returned'
        WHEN happened_at = (SELECT min(snapshot_at) FROM meta.runs) THEN 'first snapshot'
        ELSE 'new'
    END AS event
FROM moves
LEFT JOIN returned AS r USING (id, happened_at);

COMMENT ON VIEW mart.listing_events IS 'Appearances and withdrawals of product listings, one row per listing and event, found by comparing snapshots. Restrict happened_at: the view reads the whole history.';
COMMENT ON COLUMN mart.listing_events.happened_at IS 'Time of the snapshot that first showed the event, UTC.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.listing_events.listing_id IS 'Id of the listing: product_listings.id.'; -- VARCHAR
COMMENT ON COLUMN mart.listing_events.event IS 'new, withdrawn, returned (after a withdrawal), or first snapshot (the listing was already in the first snapshot).'; -- VARCHAR
