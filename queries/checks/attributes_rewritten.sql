-- subject: quality
-- severity: hold
-- title: Many rows changed an attribute that rarely changes
-- grain: one row per column
-- about: More than a share of the rows of a table have another outlet, parent, type, status or creation time than in the last snapshot. Swapped attributes and renamed statuses cause this. Not found: wrong attributes of new rows, and changes from and to NULL.
-- param: share DECIMAL 0.3 -- largest share of the rows
-- param: min_rows COUNT 50 -- leave out changes of fewer rows
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; the audit sets it
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; the audit sets it
SELECT table_name, column_name, rows_changed, rows_before
FROM (
    SELECT 'product_listings' AS table_name, unnest(['outlet_id', 'created_at', 'channel_type', 'placement_type']) AS column_name,
        unnest([count_if(n.outlet_id <> p.outlet_id), count_if(n.created_at <> p.created_at), count_if(n.channel_type <> p.channel_type), count_if(n.placement_type <> p.placement_type)]) AS rows_changed,
        (SELECT count(*) FROM before.product_listings) AS rows_before
    FROM product_listings AS n JOIN past.product_listings AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
    UNION ALL
    SELECT 'outlet_listings' AS table_name, unnest(['outlet_id', 'created_at']) AS column_name,
        unnest([count_if(n.outlet_id <> p.outlet_id), count_if(n.created_at <> p.created_at)]) AS rows_changed,
        (SELECT count(*) FROM before.outlet_listings) AS rows_before
    FROM outlet_listings AS n JOIN past.outlet_listings AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
    UNION ALL
    SELECT 'outlets' AS table_name, unnest(['created_at']) AS column_name,
        unnest([count_if(n.created_at <> p.created_at)]) AS rows_changed,
        (SELECT count(*) FROM before.outlets) AS rows_before
    FROM outlets AS n JOIN past.outlets AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
    UNION ALL
    SELECT 'orders' AS table_name, unnest(['created_at', 'status']) AS column_name,
        unnest([count_if(n.created_at <> p.created_at), count_if(n.status <> p.status)]) AS rows_changed,
        (SELECT count(*) FROM before.orders) AS rows_before
    FROM orders AS n JOIN past.orders AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
    UNION ALL
    SELECT 'order_items' AS table_name, unnest(['created_at', 'order_id', 'outlet_id', 'product_id', 'commission_status']) AS column_name,
        unnest([count_if(n.created_at <> p.created_at), count_if(n.order_id <> p.order_id), count_if(n.outlet_id <> p.outlet_id), count_if(n.product_id <> p.product_id), count_if(n.commission_status <> p.commission_status)]) AS rows_changed,
        (SELECT count(*) FROM before.order_items) AS rows_before
    FROM order_items AS n JOIN past.order_items AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
    UNION ALL
    SELECT 'campaigns' AS table_name, unnest(['created_at', 'profile_id', 'status']) AS column_name,
        unnest([count_if(n.created_at <> p.created_at), count_if(n.profile_id <> p.profile_id), count_if(n.status <> p.status)]) AS rows_changed,
        (SELECT count(*) FROM before.campaigns) AS rows_before
    FROM campaigns AS n JOIN past.campaigns AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
    UNION ALL
    SELECT 'campaign_articles' AS table_name, unnest(['created_at', 'campaign_id']) AS column_name,
        unnest([count_if(n.created_at <> p.created_at), count_if(n.campaign_id <> p.campaign_id)]) AS rows_changed,
        (SELECT count(*) FROM before.campaign_articles) AS rows_before
    FROM campaign_articles AS n JOIN past.campaign_articles AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
    UNION ALL
    SELECT 'articles' AS table_name, unnest(['campaign_id', 'status_prefix']) AS column_name,
        unnest([count_if(n.campaign_id <> p.campaign_id), count_if(n.status_prefix <> p.status_prefix)]) AS rows_changed,
        (SELECT count(*) FROM before.articles) AS rows_before
    FROM articles AS n JOIN past.articles AS p USING (id) WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot
)
WHERE rows_changed >= $min_rows AND rows_changed > rows_before * CAST($share AS DECIMAL(9, 3))
  AND NOT contains($private, ',' || table_name || '.' || column_name || ',')
ORDER BY ALL
