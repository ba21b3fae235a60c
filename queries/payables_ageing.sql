-- subject: commissions
-- title: Payables by age
-- grain: one row per kind (commission, publisher, reseller) and age band, including bands without rows
-- about: Unpaid amounts of sold items, grouped by age: commissions (commission_amount), publishers (vendor_cost) and resellers (reseller_price). The age is the time since the order was paid, in whole days of 24 hours at the snapshot. Refunded and deleted items, and amounts that are 0 or unknown, are left out. The amount is empty if no item states an amount of the kind. Items have no currency: the sums are valid only if all items are in the same currency.
-- also: owed, owe, unpaid, debt, aging, creditor, liability, payouts, publishers, commissions, old
-- chart: bar x=age_band y=amount
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
WITH open_payables AS (
    SELECT
        kind,
        amount,
        (epoch_us((SELECT snapshot_at FROM mart.snapshot)) - epoch_us(order_paid_at)) // 86400000000 AS age_days
    FROM mart.payables
    WHERE NOT is_settled
      AND ($since IS NULL OR order_paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR order_paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
aged_payables AS (
    SELECT
        *,
        CASE
            WHEN age_days IS NULL THEN 5
            WHEN age_days <= 30 THEN 1
            WHEN age_days <= 60 THEN 2
            WHEN age_days <= 90 THEN 3
            ELSE 4
        END AS band
    FROM open_payables
),
bands AS (
    SELECT unnest(['commission', 'publisher', 'reseller']) AS kind, b.band, b.age_band
    FROM (VALUES (1, '0-30 days'), (2, '31-60 days'), (3, '61-90 days'), (4, 'over 90 days'), (5, 'unknown')) AS b(band, age_band)
),
-- The kinds for which at least one item states an amount; the amounts of the other kinds are empty. If there are no
-- items, all kinds are in the list, and their amounts are 0.
stated AS (
    SELECT list_filter([
        CASE WHEN count(commission_amount) > 0 OR count(*) = 0 THEN 'commission' END,
        CASE WHEN count(vendor_cost) > 0 OR count(*) = 0 THEN 'publisher' END,
        CASE WHEN count(reseller_price) > 0 OR count(*) = 0 THEN 'reseller' END], lambda kind: kind IS NOT NULL) AS kinds
    FROM order_items
)
SELECT
    b.kind,
    b.age_band,
    count(i.amount) AS items,
    CASE WHEN list_contains(any_value(stated.kinds), b.kind) THEN CAST(coalesce(sum(i.amount), 0) AS DECIMAL(38, 2)) END AS amount,
    max(i.age_days) AS oldest_days
FROM bands AS b
CROSS JOIN stated
LEFT JOIN aged_payables AS i ON i.kind = b.kind AND i.band = b.band
GROUP BY b.kind, b.band, b.age_band
ORDER BY b.kind, b.band
