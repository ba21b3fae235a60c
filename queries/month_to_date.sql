-- subject: orders
-- title: This month against the same days of last month
-- grain: three rows: this month, the same days of last month, and the change
-- about: Orders, sales, margin and publications from the beginning of the month to the end of the period, compared with last month up to the same day and time. A shorter last month is compared as a whole. Orders are those paid in the period; order_total leaves out orders without a total. Items count by the payment of their order; refunded and deleted ones are left out. The margin is summed over the items with known costs; items_with_margin counts them. A total is empty if no row states its amount. Amounts have no currency: the sums are valid only if all are in the same currency.
-- also: compare, comparison, progress, so far, current, previous, growth, MTD, revenue, margin
-- param: until DATE NULL -- the period ends before this date; NULL means at the snapshot
-- param: timezone TIMEZONE schedule.timezone -- time zone in which months begin, such as America/New_York
-- param: profile VARCHAR NULL -- only the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
WITH bounds AS (
    SELECT
        -- The last microsecond of the period, in local time.
        coalesce(CAST(CAST($until AS DATE) AS TIMESTAMP) - INTERVAL 1 MICROSECOND, snapshot_at AT TIME ZONE CAST($timezone AS VARCHAR)) AS last_local,
        CAST(date_trunc('month', last_local) AS TIMESTAMP) AS month_local
    FROM mart.snapshot
),
periods AS (
    SELECT
        position, period, first_local, last_local,
        first_local AT TIME ZONE CAST($timezone AS VARCHAR) AS first_at,
        last_local AT TIME ZONE CAST($timezone AS VARCHAR)  AS last_at
    FROM (
        SELECT 1 AS position, 'this month' AS period, month_local AS first_local, last_local FROM bounds
        UNION ALL
        SELECT 2, 'last month', month_local - INTERVAL 1 MONTH,
            least(month_local - INTERVAL 1 MONTH + (last_local - month_local), month_local - INTERVAL 1 MICROSECOND)
        FROM bounds)
),
order_sums AS (
    SELECT d.position, count(*) AS orders, sum(o.total) AS order_total
    FROM periods AS d
    JOIN orders AS o ON o.date_paid BETWEEN d.first_at AND d.last_at
    LEFT JOIN profiles AS p ON p.id = o.profile_id
    WHERE o.deleted_at IS NULL AND ($profile IS NULL OR $profile IN (o.profile_id, p.name))
    GROUP BY d.position
),
item_sums AS (
    SELECT d.position, count(*) AS items, count(m.margin) AS with_margin, sum(m.sale_price) AS sales, sum(m.margin) AS margin
    FROM periods AS d
    JOIN mart.order_item_margins AS m ON m.paid_at BETWEEN d.first_at AND d.last_at
    JOIN mart.sold_items AS s USING (order_item_id)
    WHERE NOT m.is_refunded AND ($profile IS NULL OR $profile IN (s.profile_id, s.profile_name))
    GROUP BY d.position
),
publications AS (
    SELECT d.position, count(*) AS articles
    FROM periods AS d
    JOIN mart.article_progress AS a ON a.published_at BETWEEN d.first_at AND d.last_at
    WHERE $profile IS NULL OR $profile IN (a.profile_id, a.profile_name)
    GROUP BY d.position
),
-- A sum is 0 if the period has no orders or items. It is NULL if all of them lack the amount.
rows AS (
    SELECT
        d.position,
        d.period,
        CAST(d.first_local AS DATE)  AS first_day,
        CAST(d.last_local AS DATE)   AS last_day,
        coalesce(o.orders, 0)        AS orders,
        CASE WHEN o.position IS NULL THEN 0 ELSE o.order_total END AS order_total,
        coalesce(i.items, 0)         AS items,
        CASE WHEN i.position IS NULL THEN 0 ELSE i.sales END       AS sales,
        coalesce(i.with_margin, 0)   AS with_margin,
        CASE WHEN i.position IS NULL THEN 0 ELSE i.margin END      AS margin,
        coalesce(a.articles, 0)      AS articles_published
    FROM periods AS d
    LEFT JOIN order_sums AS o USING (position)
    LEFT JOIN item_sums AS i USING (position)
    LEFT JOIN publications AS a USING (position)
),
rows_with_change AS (
    FROM rows
    UNION ALL
    SELECT
        3, 'change', NULL, NULL,
        t.orders - l.orders,
        t.order_total - l.order_total,
        t.items - l.items,
        t.sales - l.sales,
        t.with_margin - l.with_margin,
        t.margin - l.margin,
        t.articles_published - l.articles_published
    FROM rows AS t
    JOIN rows AS l ON t.position = 1 AND l.position = 2
)
SELECT
    period,
    first_day,
    last_day,
    orders,
    CAST(order_total AS DECIMAL(38, 2)) AS order_total,
    items,
    CAST(sales AS DECIMAL(38, 2))       AS sale_total,
    with_margin                         AS items_with_margin,
    CAST(margin AS DECIMAL(38, 2))      AS margin_total,
    articles_published
FROM rows_with_change
ORDER BY position
