-- subject: prices
-- title: Net change of prices between two dates
-- grain: one row per listing, tier and currency with a net change, or per outlet, tier and currency, as chosen with "by", the largest change first
-- about: The price at the start of the day "since", compared with the price at the end of the period. Prices in between are left out. If "since" is before the first snapshot, the prices of the first snapshot are compared. New and removed prices are not compared. With "by" outlet, the prices of an outlet in one tier and currency are added up, also the unchanged ones: the column prices counts them, and the column changed counts those with a net change. The largest change in percent comes first; a change from 0 has no percentage and comes before it.
-- also: increase, decrease, rise, fall, compare, inflation, dearer, cheaper, difference, outlet
-- columns: first outlet_name listing_name old_price new_price change_percent currency
-- param: by listing|outlet listing -- grouping of the rows
-- param: since DATE? snapshot-30d -- the first price is that at the start of this day; NULL means the first snapshot
-- param: until DATE NULL -- the second price is the last one before this date; NULL means the newest snapshot
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: outlet VARCHAR NULL -- only prices of the outlet with this id or name
-- values: SELECT DISTINCT outlet_name FROM product_listings UNION ALL SELECT DISTINCT outlet_id FROM product_listings
-- param: country VARCHAR NULL -- only outlets of this country
-- values: SELECT DISTINCT country FROM product_listings
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: direction rise|fall NULL -- only rises or only falls
-- param: min_percent DECIMAL 0 -- leave out smaller changes, in percent of the first price
-- param: top COUNT NULL -- maximum number of rows
WITH period AS (
    SELECT
        greatest(min(snapshot_at), CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR)) AS first_at,
        -- The last microsecond of the period.
        coalesce(CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR) - INTERVAL 1 MICROSECOND,
            max(snapshot_at)) AS last_at
    FROM meta.runs
),
versions AS (
    SELECT
        p.product_listing_id AS listing_id, p.pricing_tier, p.currency, p.unit_amount, p.position,
        p.valid_from <= d.first_at AND (p.valid_to IS NULL OR p.valid_to > d.first_at) AS is_first,
        p.valid_from <= d.last_at AND (p.valid_to IS NULL OR p.valid_to > d.last_at)   AS is_last
    FROM history.product_listing_prices AS p
    CROSS JOIN period AS d
    WHERE d.first_at <= d.last_at
      AND p.unit_amount IS NOT NULL
      AND ($currency IS NULL OR p.currency = $currency)
      AND ($tier IS NULL OR p.pricing_tier = $tier)
),
-- Several prices of one listing, tier and currency are compared in the order of their positions.
first_prices AS (
    SELECT *, row_number() OVER (PARTITION BY listing_id, pricing_tier, currency ORDER BY position) AS nth FROM versions WHERE is_first
),
last_prices AS (
    SELECT *, row_number() OVER (PARTITION BY listing_id, pricing_tier, currency ORDER BY position) AS nth FROM versions WHERE is_last
),
-- The row version of each listing at the end of the period.
listings AS (
    SELECT l.*
    FROM history.product_listings AS l
    CROSS JOIN period AS d
    WHERE l.valid_from <= d.last_at AND (l.valid_to IS NULL OR l.valid_to > d.last_at)
),
pairs AS (
    SELECT
        CASE WHEN $by = 'listing' THEN f.listing_id END AS listing_id,
        CASE WHEN $by = 'listing' THEN f.nth END AS nth,
        CASE WHEN $by = 'listing' THEN l.name END AS listing_name,
        l.outlet_id,
        coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
        l.country,
        f.pricing_tier,
        f.currency,
        f.unit_amount AS old_amount,
        t.unit_amount AS new_amount
    FROM first_prices AS f
    JOIN last_prices AS t ON t.listing_id = f.listing_id
        AND t.pricing_tier IS NOT DISTINCT FROM f.pricing_tier
        AND t.currency IS NOT DISTINCT FROM f.currency
        AND t.nth = f.nth
    LEFT JOIN listings AS l ON l.id = f.listing_id
    LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
    WHERE ($outlet IS NULL OR $outlet IN (l.outlet_id, l.outlet_name, n.outlet_name))
      AND ($country IS NULL OR l.country = $country)
),
sums AS (
    SELECT
        outlet_id,
        CASE WHEN outlet_id IS NULL AND $by = 'outlet' THEN '(not stated)' ELSE min(outlet_name) END AS outlet_name,
        listing_id, listing_name, nth, pricing_tier, currency,
        min(country) AS country,
        count(*) AS prices,
        count(*) FILTER (new_amount <> old_amount) AS changed,
        sum(old_amount) AS old_amount,
        sum(new_amount) AS new_amount
    FROM pairs
    GROUP BY outlet_id, listing_id, listing_name, nth, pricing_tier, currency
),
net_changes AS (
    SELECT *, 100 * (new_amount - old_amount) / nullif(old_amount, 0) AS percent
    FROM sums
    WHERE new_amount <> old_amount
)
SELECT
    outlet_name,
    listing_name,
    country,
    pricing_tier,
    currency,
    prices,
    changed,
    CAST(old_amount AS DECIMAL(38, 2))              AS old_price,
    CAST(new_amount AS DECIMAL(38, 2))              AS new_price,
    CAST(new_amount - old_amount AS DECIMAL(38, 2)) AS change,
    CAST(percent AS DECIMAL(38, 1))                 AS change_percent,
    outlet_id,
    listing_id
FROM net_changes
WHERE ($direction IS NULL OR (new_amount > old_amount) = ($direction = 'rise'))
  AND (percent IS NULL OR abs(percent) >= CAST($min_percent AS DECIMAL(18, 6)))
ORDER BY abs(percent) DESC NULLS FIRST, outlet_name, outlet_id, listing_name, listing_id, pricing_tier, currency, nth
LIMIT $top
