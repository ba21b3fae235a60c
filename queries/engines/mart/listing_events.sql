-- When product listings appeared, were withdrawn and returned.
WITH versions AS (
    SELECT id, valid_from, CAST(NULL AS {{instant}}) AS valid_to FROM ${current}.product_listings
    UNION ALL
    SELECT id, valid_from, valid_to FROM ${past}.product_listings
),
version_bounds AS (
    SELECT id, valid_from AS happened_at, 1 AS step FROM versions
    UNION ALL
    SELECT id, valid_to, -1 FROM versions WHERE valid_to IS NOT NULL
),
-- A row version that begins when another ends is a change, not a new listing.
moves AS (
    SELECT id, happened_at, sum(step) AS net
    FROM version_bounds
    GROUP BY id, happened_at
    HAVING sum(step) <> 0
),
returned AS (
    SELECT DISTINCT m.id, m.happened_at
    FROM moves AS m
    JOIN versions AS v ON v.id = m.id AND v.valid_to < m.happened_at
    WHERE m.net > 0
),
first_run AS (
    SELECT min(snapshot_at) AS snapshot_at FROM ${meta}.runs
)
SELECT
    m.happened_at,
    m.id AS listing_id,
    CASE
        WHEN m.net < 0 THEN 'withdrawn'
        WHEN r.id IS NOT NULL THEN 'returned'
        WHEN m.happened_at = f.snapshot_at THEN 'first snapshot'
        ELSE 'new'
    END AS event
FROM moves AS m
CROSS JOIN first_run AS f
LEFT JOIN returned AS r ON r.id = m.id AND r.happened_at = m.happened_at
