-- subject: placements
-- title: Listings and outlets that came or left
-- grain: one row per listing or outlet, event and currency, the latest event first
-- about: New, withdrawn and returned listings by name, and outlets with the same events. An outlet is in the catalog while it has a listing. happened_at is the first snapshot that shows the event. last_seen_at is the snapshot before it, if the listing or outlet was withdrawn. lowest_price is the lowest price in the currency. listings is the number of listings of an outlet. Both are the values at last_seen_at if the listing or outlet was withdrawn, otherwise at happened_at. Listings of the first snapshot are not new. The query listing_turnover counts the listings by day.
-- also: vanished, gone, left, new, disappeared, removed, withdrawn, added, churn, catalog, site, returned
-- columns: first happened_at event outlet_name listing_name lowest_price currency
-- param: since DATE? snapshot-30d -- only events that a snapshot showed on or after this date
-- param: until DATE NULL -- only events that a snapshot showed before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: kind listing|outlet NULL -- only listings or only outlets
-- param: event new|returned|withdrawn NULL -- only events of this kind
-- param: country VARCHAR NULL -- only outlets of this country
-- values: SELECT DISTINCT country FROM history.product_listings
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM history.product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM history.product_listing_prices
-- param: top COUNT NULL -- maximum number of rows
WITH versions AS (
    SELECT
        'listing' AS kind, id AS key, id AS listing_id, name, outlet_id, outlet_name, country, valid_from,
        coalesce(valid_to, TIMESTAMPTZ 'infinity') AS valid_to
    FROM history.product_listings
    UNION ALL
    SELECT 'outlet', outlet_id, id, NULL, outlet_id, outlet_name, country, valid_from, coalesce(valid_to, TIMESTAMPTZ 'infinity')
    FROM history.product_listings
    WHERE outlet_id IS NOT NULL
),
steps AS (
    SELECT kind, key, valid_from AS happened_at, 1 AS step FROM versions
    UNION ALL
    SELECT kind, key, valid_to, -1 FROM versions WHERE valid_to < TIMESTAMPTZ 'infinity'
),
-- If the steps sum to 0, the number of listings is the same before and after, so there is no event. Most changes are
-- left out here.
moves AS MATERIALIZED (
    SELECT kind, key, happened_at
    FROM steps
    WHERE ($kind IS NULL OR kind = $kind)
      AND ($since IS NULL OR happened_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR happened_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
    GROUP BY kind, key, happened_at
    HAVING sum(step) <> 0
),
-- The number of listings before and after each move. For a listing, it is 1 or 0.
levels AS (
    SELECT
        m.kind, m.key, m.happened_at,
        min(v.valid_from)                                                              AS first_at,
        count(*) FILTER (v.valid_from < m.happened_at AND v.valid_to >= m.happened_at) AS listings_before,
        count(*) FILTER (v.valid_to > m.happened_at)                                   AS listings_after
    FROM moves AS m
    JOIN versions AS v ON v.kind = m.kind AND v.key = m.key AND v.valid_from <= m.happened_at
    GROUP BY m.kind, m.key, m.happened_at
),
events AS (
    SELECT
        kind, key, happened_at,
        CASE
            WHEN listings_after = 0 THEN 'withdrawn'
            WHEN listings_before > 0 THEN NULL -- the outlet stays, with more or fewer listings
            WHEN first_at < happened_at THEN 'returned'
            WHEN happened_at > (SELECT min(snapshot_at) FROM meta.runs) THEN 'new' -- not in the first snapshot
        END AS event,
        CASE WHEN listings_after = 0 THEN listings_before ELSE listings_after END AS listings,
        -- At this time the listing or outlet is in the catalog.
        CASE WHEN listings_after = 0 THEN happened_at - INTERVAL 1 MICROSECOND ELSE happened_at END AS present_at
    FROM levels
),
listings AS MATERIALIZED (
    SELECT e.*, v.* EXCLUDE (kind, key, valid_from, valid_to)
    FROM events AS e
    JOIN versions AS v ON v.kind = e.kind AND v.key = e.key AND v.valid_from <= e.present_at AND v.valid_to > e.present_at
    WHERE e.event IS NOT NULL
      AND ($event IS NULL OR e.event = $event)
      AND ($country IS NULL OR v.country = $country)
),
prices AS (
    SELECT
        product_listing_id AS listing_id, currency, unit_amount, valid_from, coalesce(valid_to, TIMESTAMPTZ 'infinity') AS valid_to
    FROM history.product_listing_prices
    WHERE unit_amount IS NOT NULL
      AND product_listing_id IN (SELECT listing_id FROM listings)
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
rows AS (
    SELECT
        l.kind, l.key, l.event, l.happened_at, l.listings, p.currency,
        min(l.name)            AS listing_name,
        min(l.outlet_name)     AS outlet_name,
        min(l.country)         AS country,
        any_value(l.outlet_id) AS outlet_id,
        min(p.unit_amount)     AS amount
    FROM listings AS l
    LEFT JOIN prices AS p ON p.listing_id = l.listing_id AND p.valid_from <= l.present_at AND p.valid_to > l.present_at
    GROUP BY l.kind, l.key, l.event, l.happened_at, l.listings, p.currency
)
SELECT
    r.happened_at,
    r.event,
    r.kind,
    coalesce(r.outlet_name, n.outlet_name) AS outlet_name,
    r.listing_name,
    r.country,
    r.listings,
    r.currency,
    CAST(r.amount AS DECIMAL(18, 2)) AS lowest_price,
    CASE WHEN r.event = 'withdrawn' THEN (SELECT max(snapshot_at) FROM meta.runs WHERE snapshot_at < r.happened_at) END AS last_seen_at,
    r.outlet_id,
    CASE WHEN r.kind = 'listing' THEN r.key END AS listing_id
FROM rows AS r
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = r.outlet_id
ORDER BY r.happened_at DESC, r.event, r.kind DESC, outlet_name, r.listing_name, r.key, r.currency
LIMIT $top
