-- subject: prices
-- title: Price history of a listing or an outlet
-- grain: one row per snapshot, tier and currency
-- about: What a listing, or all listings of an outlet, cost in each snapshot: how many prices there were, the lowest, the median and the highest. The median is a price that occurs (the lower one of two in the middle); change_percent is how far it is from that of the snapshot before which had such a price. A listing counts with all its prices if it ever had the name or was of the outlet.
-- param: name VARCHAR REQUIRED -- id or name of a listing, or id or name of an outlet
-- values: SELECT name FROM outlets UNION ALL SELECT outlet_name FROM history.product_listings UNION ALL SELECT name FROM history.product_listings UNION ALL SELECT id FROM outlets UNION ALL SELECT id FROM history.product_listings
-- param: since DATE? snapshot-90d -- first day, UTC
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: changed BOOLEAN false -- only snapshots in which the median is new or changed
WITH meant AS (
    SELECT DISTINCT id FROM history.product_listings WHERE $name IN (id, name, outlet_id, outlet_name)
),
-- Materialized, or every price would be compared with every snapshot first.
prices AS MATERIALIZED (
    SELECT pricing_tier, currency, unit_amount, valid_from, coalesce(valid_to, TIMESTAMPTZ 'infinity') AS valid_to
    FROM history.product_listing_prices
    WHERE product_listing_id IN (SELECT id FROM meant)
      AND unit_amount IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
nights AS (
    SELECT
        r.snapshot_at,
        p.pricing_tier,
        p.currency,
        count(*)                         AS prices,
        min(p.unit_amount)               AS lowest,
        quantile_disc(p.unit_amount, 0.5) AS median,
        max(p.unit_amount)               AS highest
    FROM prices AS p
    JOIN meta.runs AS r ON r.snapshot_at >= p.valid_from AND r.snapshot_at < p.valid_to
    GROUP BY ALL
),
-- All nights, since the first one asked for is compared with what was before it.
compared AS (
    SELECT *, lag(median) OVER (PARTITION BY pricing_tier, currency ORDER BY snapshot_at) AS before FROM nights
)
SELECT
    snapshot_at,
    pricing_tier,
    currency,
    prices,
    CAST(lowest AS DECIMAL(18, 2))  AS min_price,
    CAST(median AS DECIMAL(18, 2))  AS median_price,
    CAST(highest AS DECIMAL(18, 2)) AS max_price,
    CAST(100 * (median - before) / nullif(before, 0) AS DECIMAL(38, 1)) AS change_percent
FROM compared
WHERE (NOT $changed OR before IS DISTINCT FROM median)
  AND ($since IS NULL OR snapshot_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE 'UTC')
ORDER BY snapshot_at, pricing_tier, currency
