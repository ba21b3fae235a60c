-- subject: orders
-- title: Order value by month
-- grain: one row per month in which orders were paid
-- about: Paid orders and their values. The average is computed without floating-point numbers and rounded to 2 places, half away from zero; if two totals are in the middle, the median is the lower one. Orders without a total are counted but not included in the amounts; deleted orders are left out. Orders have no currency: the sums are valid only if all orders are in the same currency.
-- also: revenue, turnover, sales, income, average, AOV, size
-- chart: bar x=month y=order_total
-- param: timezone TIMEZONE schedule.timezone -- time zone in which months begin, such as America/New_York
-- param: since DATE NULL -- only the month of this date and later months
-- param: until DATE NULL -- only months before the month of this date
-- param: profile VARCHAR NULL -- only orders of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
WITH paid_orders AS (
    SELECT
        o.*,
        CAST(date_trunc('month', o.date_paid AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) AS month,
        (SELECT count(*) FROM order_line_items AS l WHERE l.order_id = o.id AND l.deleted_at IS NULL) AS line_items
    FROM orders AS o
    LEFT JOIN profiles AS p ON p.id = o.profile_id
    WHERE o.deleted_at IS NULL AND o.date_paid IS NOT NULL
      AND ($profile IS NULL OR $profile IN (o.profile_id, p.name))
),
months AS (
    SELECT
        month,
        count(*)                   AS orders,
        count(*) - count(total)    AS without_total,
        coalesce(sum(total), 0)    AS totals,
        -- DuckDB divides decimals as floating-point numbers. The average below is computed with integers:
        -- millionths / divisor is 100 times the average, and (2 * m + d) // (2 * d) rounds m / d.
        CAST(sum(total) * 1000000 AS HUGEINT) AS millionths,
        count(total) * 10000                  AS divisor,
        quantile_disc(total, 0.5)  AS median,
        max(total)                 AS largest,
        coalesce(sum(discount), 0) AS discounts,
        coalesce(sum(credits_applied), 0) AS credits,
        avg(line_items)            AS mean_line_items
    FROM paid_orders
    WHERE ($since IS NULL OR month >= date_trunc('month', CAST($since AS DATE)))
      AND ($until IS NULL OR month < date_trunc('month', CAST($until AS DATE)))
    GROUP BY month
)
SELECT
    month,
    orders,
    without_total                      AS orders_without_total,
    CAST(totals AS DECIMAL(38, 2))     AS order_total,
    CAST(sign(millionths) * ((2 * abs(millionths) + divisor) // (2 * divisor)) AS DECIMAL(20, 0)) * 0.01 AS average_value,
    CAST(median AS DECIMAL(18, 2))     AS median_value,
    CAST(largest AS DECIMAL(18, 2))    AS largest_value,
    CAST(discounts AS DECIMAL(38, 2))  AS discount_total,
    CAST(credits AS DECIMAL(38, 2))    AS credits_total,
    CAST(mean_line_items AS DECIMAL(18, 2)) AS line_items_per_order
FROM months
ORDER BY month
