-- subject: prices
-- title: Price history of a listing or an outlet
-- grain: one row per snapshot, tier and currency
-- about: Prices of a listing, or of all listings of an outlet, in each snapshot. If two prices are in the middle, the median is the lower one. change_percent is the median change since the previous prices of the same listing, tier and currency; the column compared counts the compared prices. New and withdrawn listings do not affect change_percent. A listing counts if it had the name or belonged to the outlet at any time.
-- param: name VARCHAR REQUIRED -- id or name of a listing, or id or name of an outlet
-- values: SELECT name FROM outlets UNION ALL SELECT outlet_name FROM history.product_listings UNION ALL SELECT name FROM history.product_listings UNION ALL SELECT id FROM outlets UNION ALL SELECT id FROM history.product_listings
-- param: since DATE? snapshot-90d -- only snapshots on or after this date
-- param: until DATE NULL -- only snapshots before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which days begin, such as America/New_York
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: changed BOOLEAN false -- only snapshots with a new, changed or removed price
WITH listing_ids AS (
    SELECT DISTINCT id
    FROM history.product_listings
    WHERE $name IN (id, name, outlet_id, outlet_name)
        OR outlet_id IN (SELECT outlet_id FROM mart.outlet_names WHERE outlet_name = $name)
),
-- Without MATERIALIZED, DuckDB would compare each price of the history with each snapshot.
prices AS MATERIALIZED (
    SELECT product_listing_id, position, pricing_tier, currency, unit_amount, valid_from, coalesce(valid_to, TIMESTAMPTZ 'infinity') AS valid_to
    FROM history.product_listing_prices
    WHERE product_listing_id IN (SELECT id FROM listing_ids)
      AND unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
-- Several prices of one listing, tier and currency are compared by their position.
snapshot_prices AS (
    SELECT
        r.snapshot_at, p.product_listing_id, p.pricing_tier, p.currency, p.unit_amount,
        row_number() OVER (PARTITION BY r.snapshot_at, p.product_listing_id, p.pricing_tier, p.currency ORDER BY p.position) AS price_number
    FROM prices AS p
    JOIN meta.runs AS r ON r.snapshot_at >= p.valid_from AND r.snapshot_at < p.valid_to
),
-- Snapshots before $since are read too, because the first shown snapshot is compared with its predecessor.
price_pairs AS (
    SELECT *, lag(unit_amount) OVER (PARTITION BY product_listing_id, pricing_tier, currency, price_number ORDER BY snapshot_at) AS before
    FROM snapshot_prices
),
snapshot_prices_by_tier AS (
    SELECT
        snapshot_at,
        pricing_tier,
        currency,
        count(*)                                                            AS prices,
        min(unit_amount)                                                    AS lowest,
        quantile_disc(unit_amount, 0.5)                                     AS median,
        max(unit_amount)                                                    AS highest,
        count(nullif(before, 0))                                            AS compared,
        quantile_disc((CAST(unit_amount AS DECIMAL(38, 6)) - before) / nullif(before, 0), 0.5)      AS change,
        bool_or(unit_amount IS DISTINCT FROM before)                        AS has_new_or_changed_price
    FROM price_pairs
    GROUP BY ALL
),
tier_changes AS (
    SELECT *, has_new_or_changed_price OR lag(prices) OVER (PARTITION BY pricing_tier, currency ORDER BY snapshot_at) IS DISTINCT FROM prices AS is_changed
    FROM snapshot_prices_by_tier
)
SELECT
    snapshot_at,
    pricing_tier,
    currency,
    prices,
    CAST(lowest AS DECIMAL(18, 2))  AS min_price,
    CAST(median AS DECIMAL(18, 2))  AS median_price,
    CAST(highest AS DECIMAL(18, 2)) AS max_price,
    compared,
    CAST(100 * change AS DECIMAL(38, 1)) AS change_percent
FROM tier_changes
WHERE (NOT $changed OR is_changed)
  AND ($since IS NULL OR snapshot_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
  AND ($until IS NULL OR snapshot_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
ORDER BY snapshot_at, pricing_tier, currency
