-- subject: placements
-- title: Bought before and no longer on sale
-- grain: one row per product that was bought and has no listing, the most recent purchase first
-- about: Products that were bought and are no longer in the catalog. Refunded and deleted items are left out. withdrawn_at is the first snapshot without the listing; it is empty if no snapshot contained the listing. last_paid is the price per piece of the last item with a price. outlet_listings counts the current listings of the outlet. Items are dated by the payment of their order; unpaid items count only without "since" and "until". Items have no currency: the sums are valid only if all items are in the same currency.
-- also: withdrawn, vanished, removed, unavailable, lost, past purchases, left, discontinued
-- columns: first product_name outlet_name items sale_total last_paid_at withdrawn_at
-- chart: bar x=product_name y=sale_total
-- param: profile VARCHAR NULL -- only items of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
WITH bought_products AS (
    SELECT
        product_id,
        arg_max(product_name, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), product_name)) AS product_name,
        arg_max(outlet_id, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), outlet_id))       AS outlet_id,
        arg_max(outlet_name, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), outlet_name))   AS outlet_name,
        count(*)                                                                          AS items,
        coalesce(sum(sale_price), 0)                                                      AS sales,
        max(paid_at)                                                                      AS last_paid_at,
        arg_max(sale_price / quantity, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), order_item_id)) AS last_paid
    FROM mart.sold_items
    WHERE NOT is_refunded AND product_id IS NOT NULL
      AND product_id NOT IN (SELECT id FROM product_listings)
      AND ($profile IS NULL OR $profile IN (profile_id, profile_name))
      AND ($since IS NULL OR paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
    GROUP BY product_id
),
withdrawals AS (
    SELECT id, max(valid_to) AS withdrawn_at FROM past.product_listings GROUP BY id
),
listing_counts AS (
    SELECT outlet_id, count(*) AS listings FROM product_listings GROUP BY outlet_id
)
SELECT
    b.product_id,
    b.product_name,
    b.outlet_name,
    b.items,
    CAST(b.sales AS DECIMAL(38, 2))     AS sale_total,
    b.last_paid_at,
    CAST(b.last_paid AS DECIMAL(18, 2)) AS last_paid,
    w.withdrawn_at,
    coalesce(l.listings, 0)             AS outlet_listings
FROM bought_products AS b
LEFT JOIN withdrawals AS w ON w.id = b.product_id
LEFT JOIN listing_counts AS l ON l.outlet_id = b.outlet_id
ORDER BY b.last_paid_at DESC NULLS LAST, b.product_id
LIMIT $top
