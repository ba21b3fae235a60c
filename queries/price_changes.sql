-- subject: prices
-- title: Price changes
-- grain: one row per changed price of a product listing, in a tier, currency and snapshot
-- about: Rises and falls of prices. The newest changes come first, and those of one snapshot in the order of their size in percent. Names are from the time of the change. A new price, a removed price and the return of a withdrawn listing are not changes. Prices are rounded to 2 places and percentages to 1; a change from 0 has no percentage and is always shown.
-- also: increase, decrease, rise, raise, fall, dearer, cheaper, more expensive, moved
-- columns: first listing_name old_price new_price change_percent currency outlet_name changed_at
-- param: since DATE? snapshot-7d -- only changes that a snapshot showed on or after this date
-- param: until DATE NULL -- only changes that a snapshot showed before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: direction rise|fall NULL -- only rises or only falls
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: tier VARCHAR NULL -- only prices of this tier
-- values: SELECT DISTINCT pricing_tier FROM product_listing_prices
-- param: min_percent DECIMAL 0 -- leave out smaller changes, in percent of the old price
-- param: top COUNT NULL -- maximum number of rows
WITH changes AS (
    SELECT *, 100 * (CAST(new_amount AS DECIMAL(38, 6)) - old_amount) / nullif(old_amount, 0) AS percent
    FROM mart.price_changes
    WHERE ($since IS NULL OR changed_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR changed_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($direction IS NULL OR (new_amount > old_amount) = ($direction = 'rise'))
      AND ($currency IS NULL OR currency = $currency)
      AND ($tier IS NULL OR pricing_tier = $tier)
),
shown_changes AS (
    SELECT *
    FROM changes
    WHERE percent IS NULL OR abs(percent) >= CAST($min_percent AS DECIMAL(18, 6))
    ORDER BY changed_at DESC, abs(percent) DESC NULLS FIRST, listing_id, pricing_tier, currency, old_amount, new_amount
    LIMIT $top
)
SELECT
    c.changed_at,
    c.listing_id,
    l.name AS listing_name,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    l.country,
    c.pricing_tier,
    c.currency,
    CAST(c.old_amount AS DECIMAL(18, 2))                AS old_price,
    CAST(c.new_amount AS DECIMAL(18, 2))                AS new_price,
    CAST(CAST(c.new_amount AS DECIMAL(38, 6)) - c.old_amount AS DECIMAL(18, 2)) AS change,
    CAST(c.percent AS DECIMAL(38, 1))                   AS change_percent
FROM shown_changes AS c
LEFT JOIN history.product_listings AS l ON l.id = c.listing_id
    AND l.valid_from <= c.changed_at
    -- With OR instead of coalesce, DuckDB would compare each change with each row of history.
    AND coalesce(l.valid_to, TIMESTAMPTZ 'infinity') > c.changed_at
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY c.changed_at DESC, abs(c.percent) DESC NULLS FIRST, c.listing_id, c.pricing_tier, c.currency, c.old_amount, c.new_amount
