-- subject: commissions
-- title: Paid orders without a commission
-- grain: one row per paid order without a commission, newest first
-- about: Paid orders without any commission on their items, or without items. A commission of 0 counts as no commission. Deleted orders and deleted or refunded items are not counted; an order whose items were all refunded is left out. Orders and items have no currency.
-- also: missing, referrer, unassigned, forgotten
-- param: since DATE NULL -- only orders paid on or after this date
-- param: until DATE NULL -- only orders paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: partial BOOLEAN false -- also orders with a commission on only some of their items
WITH item_sums AS (
    SELECT
        order_id,
        count(*)                                                                AS all_items,
        count(*) FILTER (is_counted)                                            AS items,
        count(*) FILTER (is_counted AND NOT has_commission)                     AS without_commission,
        coalesce(sum(sale_price) FILTER (is_counted AND NOT has_commission), 0) AS sales
    FROM (
        SELECT
            *,
            is_refunded IS NOT TRUE AND refund_date IS NULL AS is_counted,
            coalesce(commission_amount, 0) <> 0             AS has_commission
        FROM order_items
        WHERE deleted_at IS NULL
    )
    GROUP BY order_id
),
paid_orders AS (
    SELECT
        o.*,
        coalesce(s.all_items, 0)          AS all_items,
        coalesce(s.items, 0)              AS items,
        coalesce(s.without_commission, 0) AS without_commission,
        coalesce(s.sales, 0)              AS sales
    FROM orders AS o
    LEFT JOIN item_sums AS s ON s.order_id = o.id
    WHERE o.deleted_at IS NULL AND o.date_paid IS NOT NULL
      AND ($since IS NULL OR o.date_paid >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR o.date_paid < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
)
SELECT
    id        AS order_id,
    reference_number,
    status    AS order_status,
    date_paid AS paid_at,
    CAST(total AS DECIMAL(18, 2)) AS order_total,
    items,
    without_commission   AS items_without_commission,
    CAST(sales AS DECIMAL(38, 2)) AS sale_without_commission,
    CASE
        WHEN all_items = 0 THEN 'no items'
        WHEN without_commission = items THEN 'no commission on any item'
        ELSE 'no commission on some items'
    END AS reason
FROM paid_orders
WHERE all_items = 0 OR (without_commission > 0 AND ($partial OR without_commission = items))
ORDER BY date_paid DESC, id
