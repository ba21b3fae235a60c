-- subject: throughput
-- severity: warn
-- title: Statuses that went backwards
-- grain: one row per record
-- about: Articles that were published in the previous snapshot and no longer are, and orders and commissions that were paid and no longer are. Reason: earlier reports counted them as done. Not detected: steps back between other statuses.
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; set by the program
SELECT 'articles' AS table_name, id, p.status_prefix AS before, n.status_prefix AS now
FROM articles AS n JOIN past.articles AS p USING (id)
WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
  AND p.status_prefix IN (SELECT prefix FROM meta.statuses WHERE state = 'published')
  AND (n.status_prefix IN (SELECT prefix FROM meta.statuses WHERE state = 'published')) IS NOT TRUE
  AND NOT contains($private, ',articles.status_prefix,')
UNION ALL
SELECT 'orders', id, 'paid ' || CAST(p.date_paid AS VARCHAR), n.status
FROM orders AS n JOIN past.orders AS p USING (id)
WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.date_paid IS NOT NULL AND n.date_paid IS NULL
  AND NOT contains($private, ',orders.date_paid,')
UNION ALL
SELECT 'order_items', id, 'commission paid ' || CAST(p.commission_date_paid AS VARCHAR), n.commission_status
FROM order_items AS n JOIN past.order_items AS p USING (id)
WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.commission_date_paid IS NOT NULL AND n.commission_date_paid IS NULL
  AND NOT contains($private, ',order_items.commission_date_paid,')
ORDER BY ALL
