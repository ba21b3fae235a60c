-- subject: orders
-- title: What each client spent
-- grain: one row per client profile and outlet, and one per profile for items without an outlet; with "by" month, per profile and month; with "monthly", per profile, outlet and month
-- about: Paid items of each client profile that are not refunded: how many, what was spent, and what a piece cost on average. An item without an outlet counts for the outlet of its product. With "by" outlet, the outlets of a profile with the highest spending come first; with "monthly", the months of an outlet follow each other. Items without a price, and items whose quantity is above 1,000,000, are left out of the average. The spending is empty if no item has a price. Items have no currency: the sums are valid only if all items are in the same currency.
-- also: customer, spend, spending, paid, revenue, outlet, month, cost, average, invoice, used
-- columns: first profile_name outlet_name month spent items average_price
-- chart: bar x=outlet_name y=spent
-- param: by outlet|month outlet -- grouping of the items of a profile
-- param: monthly BOOLEAN false -- with "by" outlet, one row per outlet and month
-- param: profile VARCHAR NULL -- only items of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates and months begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
WITH items AS (
    SELECT
        s.*,
        coalesce(s.outlet_id, l.outlet_id) AS known_outlet_id,
        CASE WHEN $by = 'month' OR $monthly
            THEN CAST(date_trunc('month', s.paid_at AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) END AS month
    FROM mart.sold_items AS s
    LEFT JOIN product_listings AS l ON l.id = s.product_id
    WHERE s.paid_at IS NOT NULL AND NOT s.is_refunded
      AND ($profile IS NULL OR $profile IN (s.profile_id, s.profile_name))
      AND ($since IS NULL OR s.paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR s.paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
outlets AS (
    SELECT outlet_id, arg_max(outlet_name, (paid_at, outlet_name)) AS outlet_name
    FROM items
    WHERE outlet_id IS NOT NULL -- without an id, it is unknown which outlet has the name
    GROUP BY outlet_id
),
-- The quantity of a sold item is NULL if it is above 1,000,000. pieces is then NULL, and the average leaves the item out.
sums AS (
    SELECT
        profile_id,
        any_value(profile_name)                                  AS profile_name,
        CASE WHEN $by = 'outlet' THEN known_outlet_id END        AS outlet_id,
        month,
        count(DISTINCT order_id)                                 AS orders,
        count(*)                                                 AS items,
        count(*) - count(sale_price)                             AS without_price,
        CASE WHEN count(quantity) = count(*) THEN sum(quantity) END AS pieces,
        sum(sale_price)                                          AS spent,
        sum(sale_price) FILTER (quantity IS NOT NULL)            AS averaged_spent,
        sum(quantity) FILTER (sale_price IS NOT NULL)            AS averaged_pieces,
        max(paid_at)                                             AS last_paid_at
    FROM items
    GROUP BY profile_id, CASE WHEN $by = 'outlet' THEN known_outlet_id END, month
),
sums_by_outlet AS (
    SELECT *, sum(spent) OVER (PARTITION BY profile_id, outlet_id) AS outlet_spent FROM sums
)
SELECT
    CASE WHEN s.profile_id IS NULL THEN '(not stated)' ELSE s.profile_name END AS profile_name,
    CASE WHEN $by = 'outlet' AND s.outlet_id IS NULL THEN '(not stated)' ELSE coalesce(o.outlet_name, n.outlet_name) END AS outlet_name,
    s.month,
    s.orders,
    s.items,
    s.without_price                  AS items_without_price,
    CAST(s.pieces AS BIGINT)         AS pieces,
    CAST(s.spent AS DECIMAL(38, 2))  AS spent,
    CAST(s.averaged_spent / s.averaged_pieces AS DECIMAL(38, 2)) AS average_price,
    s.last_paid_at,
    s.profile_id,
    s.outlet_id
FROM sums_by_outlet AS s
LEFT JOIN outlets AS o ON o.outlet_id = s.outlet_id
LEFT JOIN mart.outlet_names AS n ON n.outlet_id = s.outlet_id
ORDER BY
    profile_name, s.profile_id,
    CASE WHEN $by = 'month' THEN s.month END,                    -- with "by" month; the keys below are then equal
    s.outlet_spent DESC NULLS LAST, outlet_name, s.outlet_id,    -- with "by" outlet
    s.month                                                      -- with "monthly"
LIMIT $top
