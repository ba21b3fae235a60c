-- subject: quality
-- severity: warn
-- title: Dates that cannot be right
-- grain: one row per date
-- about: Orders, order items, campaigns and product listings with a date of creation, payment or commission payment before 2000 or after the snapshot. Reason: the dates may be in a wrong time zone, epoch zero, or have day and month swapped. One day after the snapshot is allowed, because of time zones. Not detected: wrong dates between these limits, and dates of other tables.
-- param: earliest DATE 2000-01-01 -- earliest plausible date
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
SELECT table_name, id, column_name, date
FROM (
    SELECT 'orders' AS table_name, id, unnest(['created_at', 'date_paid']) AS column_name, unnest([created_at, date_paid]) AS date FROM orders
    UNION ALL
    SELECT 'order_items', id, unnest(['created_at', 'date_paid', 'commission_date_paid']), unnest([created_at, date_paid, commission_date_paid]) FROM order_items
    UNION ALL
    SELECT 'campaigns', id, 'created_at', created_at FROM campaigns
    UNION ALL
    SELECT 'product_listings', id, 'created_at', created_at FROM product_listings
)
WHERE date < $earliest OR date > $snapshot + INTERVAL 1 DAY
ORDER BY ALL
