-- subject: commissions
-- title: Commissions by month
-- grain: one row per month and commission status
-- about: Commissions earned and paid. An item counts in the month in which its order was paid or, if that is unknown, in which the item was created. Deleted items are left out. The commission of a refunded item counts as refunded unless the commission was paid. commission_total is the sum of paid, unpaid and refunded commissions. paid_percent is the paid share of paid and unpaid commissions. Commissions have no currency: the sums are valid only if all commissions are in the same currency.
-- also: referrer, affiliate, fee, paid, owed, payout
-- chart: bar x=month y=commission_total by=commission_status
-- param: timezone TIMEZONE schedule.timezone -- time zone in which months begin, such as America/New_York
-- param: since DATE NULL -- only the month of this date and later months
-- param: until DATE NULL -- only months before the month of this date
WITH items AS (
    SELECT
        CAST(date_trunc('month', coalesce(m.paid_at, i.created_at) AT TIME ZONE $timezone) AS DATE) AS month,
        i.commission_status,
        m.commission_amount AS amount,
        i.commission_date_paid IS NOT NULL AS is_paid,
        NOT is_paid AND m.is_refunded AS counts_as_refunded
    FROM mart.order_item_margins AS m
    JOIN order_items AS i ON i.id = m.order_item_id
),
sums AS (
    SELECT
        month,
        commission_status,
        count(*)                                      AS items,
        count(*) FILTER (amount IS NULL)              AS items_without_amount,
        coalesce(sum(amount), 0)                      AS commission,
        coalesce(sum(amount) FILTER (is_paid), 0)     AS paid,
        coalesce(sum(amount) FILTER (counts_as_refunded), 0)     AS refunded,
        commission - paid - refunded                  AS unpaid
    FROM items
    WHERE ($since IS NULL OR month >= date_trunc('month', CAST($since AS DATE)))
      AND ($until IS NULL OR month < date_trunc('month', CAST($until AS DATE)))
    GROUP BY ALL
)
SELECT
    month,
    commission_status,
    items,
    items_without_amount,
    CAST(commission AS DECIMAL(38, 2))                         AS commission_total,
    CAST(paid AS DECIMAL(38, 2))                               AS commission_paid,
    CAST(unpaid AS DECIMAL(38, 2))                             AS commission_unpaid,
    CAST(refunded AS DECIMAL(38, 2))                           AS commission_refunded,
    CAST(100 * paid / nullif(paid + unpaid, 0) AS DECIMAL(38, 1)) AS paid_percent
FROM sums
ORDER BY month, commission_status
