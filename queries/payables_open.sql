-- subject: commissions
-- title: Open payables by item or creditor
-- grain: one row per order item and open payable (commission, publisher, reseller), or one per kind and creditor, as chosen with "by", the oldest first
-- about: The open payables that the query payables_ageing sums, with creditor, amount and times. Payables of unknown age come last. The creditor of a publisher payable is the outlet, and that of a commission the referrer; the service does not name resellers. With "by" creditor, paid_at and due_at are those of the oldest payable of the creditor, and payables without these times are summed too. age_days is the time since the customer paid the order, in whole days of 24 hours at the snapshot. due_at is the payment plus "terms", and empty without terms. Items have no currency: the sums are valid only if all items are in the same currency.
-- also: owed, owe, unpaid, debt, due, pay, payout, creditor, liability, publisher, commission, reseller, invoice
-- columns: first outlet_name amount due_at kind paid_at age_days product_name
-- chart: bar x=product_name y=amount
-- param: by item|creditor item -- grouping of the rows
-- param: terms COUNT NULL -- days from the payment of the order until a payable is due
-- param: kind commission|publisher|reseller NULL -- only payables of this kind
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: min_days COUNT 0 -- minimum age in days
-- param: top COUNT NULL -- maximum number of rows
-- With "by" creditor, the columns of an item are NULL, so the sums below are per kind and creditor.
WITH open_payables AS (
    SELECT
        p.kind,
        p.amount,
        p.order_paid_at,
        CASE WHEN $by = 'item' THEN p.order_item_id END                           AS order_item_id,
        CASE WHEN $by = 'item' THEN p.order_id END                                AS order_id,
        CASE WHEN $by = 'item' THEN p.product_name END                            AS product_name,
        CASE WHEN $by = 'item' OR p.kind = 'publisher' THEN p.outlet_id END       AS outlet_id,
        CASE WHEN $by = 'item' OR (p.kind = 'publisher' AND p.outlet_id IS NOT NULL) THEN p.outlet_name END AS outlet_name,
        CASE WHEN p.kind = 'commission' THEN i.referrer_id END                    AS referrer_id,
        (epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(p.order_paid_at)) // 86400000000 AS age_days
    FROM mart.payables AS p
    JOIN order_items AS i ON i.id = p.order_item_id
    WHERE NOT p.is_settled
      AND ($kind IS NULL OR p.kind = $kind)
      AND ($since IS NULL OR p.order_paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR p.order_paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
sums AS (
    SELECT
        kind, order_item_id, order_id, product_name, outlet_id, referrer_id,
        arg_max(outlet_name, (coalesce(order_paid_at, TIMESTAMPTZ '-infinity'), outlet_name)) AS outlet_name,
        count(*)           AS items,
        sum(amount)        AS amount,
        min(order_paid_at) AS paid_at,
        max(age_days)      AS age_days
    FROM open_payables
    WHERE $min_days = 0 OR age_days >= $min_days
    GROUP BY kind, order_item_id, order_id, product_name, outlet_id, referrer_id
)
SELECT
    kind,
    outlet_name,
    product_name,
    items,
    CAST(amount AS DECIMAL(38, 2)) AS amount,
    paid_at,
    age_days,
    paid_at + to_hours(24 * $terms) AS due_at,
    order_item_id,
    order_id,
    outlet_id,
    referrer_id
FROM sums
ORDER BY paid_at NULLS LAST, order_item_id, kind, outlet_id, referrer_id
LIMIT $top
