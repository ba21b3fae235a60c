-- Paid orders without a commission
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST(false AS BOOLEAN) AS partial
),
-- A commission of 0 counts as no commission. Refunded items are not counted.
items AS (
    SELECT
        order_id,
        sale_price,
        NOT coalesce(is_refunded, false) AND refund_date IS NULL AS is_counted,
        coalesce(commission_amount, 0) <> 0                      AS has_commission
    FROM ${current}.order_items
    WHERE deleted_at IS NULL
),
item_sums AS (
    SELECT
        order_id,
        count(*)                                                                      AS all_items,
        count(*) FILTER (WHERE is_counted)                                            AS items,
        count(*) FILTER (WHERE is_counted AND NOT has_commission)                     AS without_commission,
        coalesce(sum(sale_price) FILTER (WHERE is_counted AND NOT has_commission), 0) AS sales
    FROM items
    GROUP BY order_id
),
paid_orders AS (
    SELECT
        o.id, o.reference_number, o.status, o.date_paid, o.total,
        coalesce(s.all_items, 0)          AS all_items,
        coalesce(s.items, 0)              AS items,
        coalesce(s.without_commission, 0) AS without_commission,
        coalesce(s.sales, 0)              AS sales,
        params.partial
    FROM ${current}.orders AS o
    CROSS JOIN params
    LEFT JOIN item_sums AS s ON s.order_id = o.id
    WHERE o.deleted_at IS NULL AND o.date_paid IS NOT NULL
      AND (params.since IS NULL
        OR o.date_paid >= {{midnight "params.since" "params.timezone"}})
      AND (params.until IS NULL
        OR o.date_paid < {{midnight "params.until" "params.timezone"}})
)
SELECT
    id        AS order_id,
    reference_number,
    status    AS order_status,
    date_paid AS paid_at,
    CAST(total AS DECIMAL(18, 2)) AS order_total,
    items,
    without_commission   AS items_without_commission,
    CAST(sales AS DECIMAL(18, 2)) AS sale_without_commission,
    CASE
        WHEN all_items = 0 THEN 'no items'
        WHEN without_commission = items THEN 'no commission on any item'
        ELSE 'no commission on some items'
    END AS reason
FROM paid_orders
WHERE all_items = 0 OR (without_commission > 0 AND (partial OR without_commission = items))
ORDER BY date_paid DESC, id
