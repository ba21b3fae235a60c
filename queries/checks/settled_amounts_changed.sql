-- subject: orders
-- severity: hold
-- title: Amounts of paid orders changed
-- grain: one row per table
-- about: Totals of paid orders, or sale prices and commissions of their items, changed in bulk since the previous snapshot. Reason: a paid amount is final, except for single refunds, and a change of many amounts changes reports of past months. An amount that was NULL may be filled in later and is left out. The column rows_settled counts the paid rows of the previous snapshot. Not detected: changes of fewer than "min_rows" rows, and amounts that became NULL (see nulls_rose).
-- param: share DECIMAL 0.1 -- allowed share of the paid rows
-- param: min_rows COUNT 20 -- leave out changes of fewer rows
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
SELECT table_name, rows_changed, rows_settled
FROM (
    SELECT 'orders' AS table_name, count_if(n.total <> p.total OR n.subtotal <> p.subtotal) AS rows_changed,
        (SELECT count(*) FROM before.orders WHERE date_paid IS NOT NULL) AS rows_settled
    FROM orders AS n JOIN past.orders AS p USING (id)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.date_paid IS NOT NULL
    UNION ALL
    SELECT 'order_items', count_if(n.sale_price <> p.sale_price OR n.commission_amount <> p.commission_amount),
        (SELECT count(*) FROM before.order_items WHERE date_paid IS NOT NULL)
    FROM order_items AS n JOIN past.order_items AS p USING (id)
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.date_paid IS NOT NULL
)
WHERE rows_changed >= $min_rows AND rows_changed > rows_settled * CAST($share AS DECIMAL(9, 3))
