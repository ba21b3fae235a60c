-- subject: orders
-- title: Paid and outstanding orders by month and client profile
-- grain: one row per month and client profile, oldest first
-- about: Orders of each client profile. A paid order counts in the month of its payment, an unpaid one in the month in which it was created. Deleted orders, and unpaid orders that ended, are left out. Orders without a total are counted but not included in the amounts. Orders have no currency: the sums are valid only if all orders are in the same currency.
-- also: client, customer, revenue, receivable, unpaid, invoice, monthly, owe
-- chart: bar x=month y=paid_total
-- param: timezone TIMEZONE schedule.timezone -- time zone in which months begin, such as America/New_York
-- param: since DATE NULL -- only the month of this date and later months
-- param: until DATE NULL -- only months before the month of this date
-- param: profile VARCHAR NULL -- only orders of the client profile with this id or name
-- values: SELECT name FROM profiles UNION ALL SELECT id FROM profiles
-- param: ended STATUSES statuses.orders_ended -- order statuses that mean ended without being fulfilled, in upper or lower case, separated by commas
WITH dated_orders AS (
    SELECT
        CAST(date_trunc('month', coalesce(o.date_paid, o.created_at) AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) AS month,
        o.profile_id,
        CASE WHEN o.profile_id IS NULL THEN '(not stated)' ELSE p.name END AS profile_name,
        o.date_paid IS NOT NULL AS is_paid,
        o.total
    FROM orders AS o
    LEFT JOIN profiles AS p ON p.id = o.profile_id
    WHERE o.deleted_at IS NULL
      AND (o.date_paid IS NOT NULL OR list_contains(string_split(lower($ended), ','), lower(o.status)) IS NOT TRUE)
      AND ($profile IS NULL OR $profile IN (o.profile_id, p.name))
)
SELECT
    month,
    profile_id,
    profile_name,
    count(*) FILTER (is_paid)                                                   AS orders_paid,
    CAST(coalesce(sum(total) FILTER (is_paid), 0) AS DECIMAL(38, 2))            AS paid_total,
    count(*) FILTER (NOT is_paid)                                               AS orders_outstanding,
    CAST(coalesce(sum(total) FILTER (NOT is_paid), 0) AS DECIMAL(38, 2))        AS outstanding_total
FROM dated_orders
WHERE ($since IS NULL OR month >= date_trunc('month', CAST($since AS DATE)))
  AND ($until IS NULL OR month < date_trunc('month', CAST($until AS DATE)))
GROUP BY month, profile_id, profile_name
ORDER BY month, profile_name, profile_id
