-- subject: prices
-- title: Price history of a listing or an outlet
-- grain: one row per listing, tier, currency and change of the price, the latest change of a price last
-- about: Each price with the snapshot that first showed it, and the price before. A new price has no old price, and a removed price has no new price. A price that was set before "since" and was still valid then has a row too. A price at another position in the list of the service is not a change. A change that rounds to 0.00 percent has no percentage. A listing counts if it had the name or belonged to the outlet at any time.
-- also: past, trend, development, over time, old prices, chart
-- chart: step x=changed_at y=new_price by=listing_name,pricing_tier
-- param: name VARCHAR REQUIRED -- id or name of a listing, or id or name of an outlet
-- values: SELECT name FROM outlets UNION ALL SELECT outlet_name FROM history.product_listings UNION ALL SELECT name FROM history.product_listings UNION ALL SELECT id FROM outlets UNION ALL SELECT id FROM history.product_listings
-- param: since DATE? snapshot-90d -- only prices that were valid on or after this date
-- param: until DATE NULL -- only changes before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which days begin, such as America/New_York
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
WITH listing_ids AS (
    SELECT DISTINCT id
    FROM history.product_listings
    WHERE $name IN (id, name, outlet_id, outlet_name)
        OR outlet_id IN (SELECT outlet_id FROM mart.outlet_names WHERE outlet_name = $name)
),
listings AS MATERIALIZED (
    -- The name in an earlier version can be that of another outlet, so both values come from the newest version.
    SELECT id, arg_max(name, valid_from) AS name, arg_max_null(outlet_id, valid_from) AS outlet_id, arg_max_null(outlet_name, valid_from) AS outlet_name
    FROM history.product_listings
    WHERE id IN (SELECT id FROM listing_ids)
    GROUP BY id
),
versions AS MATERIALIZED (
    SELECT
        product_listing_id AS listing_id, pricing_tier, currency, unit_amount, position, valid_from,
        coalesce(valid_to, TIMESTAMPTZ 'infinity') AS valid_to
    FROM history.product_listing_prices
    WHERE product_listing_id IN (SELECT id FROM listings)
      AND unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
ends AS (
    SELECT listing_id, pricing_tier, currency, unit_amount, position, valid_from AS changed_at, 'new' AS side FROM versions
    UNION ALL
    SELECT listing_id, pricing_tier, currency, unit_amount, position, valid_to, 'old' FROM versions WHERE valid_to < TIMESTAMPTZ 'infinity'
),
-- An unchanged price at another position has both an old and a new copy. Equal copies are numbered on each side, and
-- an old and a new copy with the same number are left out.
copies AS (
    SELECT *, row_number() OVER (PARTITION BY listing_id, pricing_tier, currency, unit_amount, changed_at, side) AS copy FROM ends
),
unmatched AS (
    FROM copies
    QUALIFY count(*) OVER (PARTITION BY listing_id, pricing_tier, currency, unit_amount, changed_at, copy) = 1
),
-- Several prices of one listing, tier and currency are compared in the order of their positions.
items AS (
    SELECT *, row_number() OVER (PARTITION BY listing_id, pricing_tier, currency, changed_at, side ORDER BY position) AS item FROM unmatched
),
changes AS (
    SELECT
        listing_id, pricing_tier, currency, changed_at,
        max(unit_amount) FILTER (side = 'old') AS old_amount,
        max(unit_amount) FILTER (side = 'new') AS new_amount
    FROM items
    GROUP BY listing_id, pricing_tier, currency, changed_at, item
),
since AS (
    SELECT CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR) AS since_time
),
-- For each price that was valid at the time of $since: the change that set it.
prices_at_since AS (
    SELECT c.*
    FROM changes AS c
    SEMI JOIN (SELECT v.* FROM versions AS v JOIN since ON v.valid_from < since_time AND v.valid_to > since_time) AS v
        ON v.listing_id = c.listing_id
        AND v.pricing_tier IS NOT DISTINCT FROM c.pricing_tier
        AND v.currency IS NOT DISTINCT FROM c.currency
        AND v.unit_amount = c.new_amount
    WHERE c.changed_at < (SELECT since_time FROM since)
    QUALIFY rank() OVER (PARTITION BY c.listing_id, c.pricing_tier, c.currency, c.new_amount ORDER BY c.changed_at DESC) = 1
),
shown_changes AS (
    FROM changes WHERE $since IS NULL OR changed_at >= (SELECT since_time FROM since)
    UNION ALL
    FROM prices_at_since
),
amounts AS (
    SELECT
        *, 100 * (CAST(new_amount AS DECIMAL(38, 6)) - old_amount) / nullif(old_amount, 0) AS percent,
        CAST(old_amount AS DECIMAL(18, 2)) AS old_price,
        CAST(new_amount AS DECIMAL(18, 2)) AS new_price
    FROM shown_changes
    WHERE $until IS NULL OR changed_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)
)
SELECT
    a.changed_at,
    l.name                                   AS listing_name,
    coalesce(l.outlet_name, n.outlet_name)   AS outlet_name,
    a.pricing_tier,
    a.currency,
    a.old_price,
    a.new_price,
    nullif(CAST(a.percent AS DECIMAL(38, 2)), 0) AS change_percent,
    l.outlet_id,
    a.listing_id
FROM amounts AS a
JOIN listings AS l ON l.id = a.listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY listing_name, a.listing_id, a.pricing_tier, a.currency, a.changed_at, a.old_price, a.new_price
