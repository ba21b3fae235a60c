-- subject: prices
-- replacement: tier_gaps --param by=listing
-- title: Widest gaps between tiers
-- grain: one row per product listing and currency with different prices of several tiers
-- about: The lowest and the highest price of each listing with their tiers, and the gap between them. The widest gap in percent of the lowest price comes first. If tiers have equal prices, the first by name is shown. Prices without a tier are left out, and so are listings whose lowest price is 0 or less.
-- also: difference, discount, pro, standard, pricing plan, saving, largest
-- chart: bar x=listing_name y=gap_percent
-- param: currency VARCHAR NULL -- only prices in this currency
-- values: SELECT DISTINCT currency FROM product_listing_prices
-- param: top COUNT? 100 -- maximum number of rows
-- Of equal prices, arg_min takes the tier with the first name. The negative amount is the lowest for the highest price.
WITH spans AS (
    SELECT
        product_listing_id,
        currency,
        arg_min(pricing_tier, (unit_amount, pricing_tier))  AS low_tier,
        min(unit_amount)                                    AS low,
        arg_min(pricing_tier, (-unit_amount, pricing_tier)) AS high_tier,
        max(unit_amount)                                    AS high
    FROM product_listing_prices
    WHERE unit_amount IS NOT NULL AND pricing_tier IS NOT NULL
      AND ($currency IS NULL OR currency = $currency)
    GROUP BY ALL
),
widest_gaps AS (
    SELECT *, 100 * (CAST(high AS DECIMAL(38, 6)) - low) / low AS percent
    FROM spans
    WHERE low > 0 AND low_tier <> high_tier
    ORDER BY percent DESC, product_listing_id, currency
    LIMIT $top
)
SELECT
    w.product_listing_id AS listing_id,
    l.name               AS listing_name,
    coalesce(l.outlet_name, n.outlet_name) AS outlet_name,
    w.currency,
    w.low_tier           AS lowest_tier,
    CAST(w.low AS DECIMAL(18, 2))          AS lowest_price,
    w.high_tier          AS highest_tier,
    CAST(w.high AS DECIMAL(18, 2))         AS highest_price,
    CAST(CAST(w.high AS DECIMAL(38, 6)) - w.low AS DECIMAL(18, 2)) AS gap,
    CAST(w.percent AS DECIMAL(38, 1))      AS gap_percent
FROM widest_gaps AS w
LEFT JOIN product_listings AS l ON l.id = w.product_listing_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = l.outlet_id
ORDER BY w.percent DESC, listing_id, w.currency
