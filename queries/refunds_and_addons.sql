-- subject: margins
-- title: Refunds and add-ons by outlet or writer
-- grain: one row per outlet or writer, as chosen with "by", and one for items without a group; the largest refunds first
-- about: Refunds and add-ons of sold items. An item is refunded if it is marked as refunded or has a refund date; a refund is due if the item requires one and is not refunded. add_on_items counts items marked as add-ons, and add_on_total is their sale total. add_ons counts the add-ons of articles. These add-ons have no amount. Items are dated by the payment of their order. Deleted items are left out. Items have no currency: the sums are valid only if all items are in the same currency.
-- also: refunded, returned, upsell, extra, cancelled, money back
-- columns: first group_name refunded_total refunded_percent sale_total items add_on_total
-- chart: bar x=group_name y=refunded_total
-- param: by outlet|writer outlet -- grouping of the rows
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: top COUNT NULL -- maximum number of rows
WITH items AS (
    SELECT
        CASE WHEN $by = 'outlet' THEN s.outlet_id ELSE coalesce(i.article_writer_id, p.writer_id) END AS group_id,
        CASE WHEN $by = 'outlet' THEN s.outlet_name
            ELSE coalesce(nullif(trim(concat_ws(' ', i.article_writer_first_name, i.article_writer_last_name)), ''), p.writer_name) END AS group_name,
        s.article_id,
        s.paid_at,
        s.sale_price,
        s.is_refunded,
        i.refund_required IS TRUE AND NOT s.is_refunded AS is_due,
        profile_order_items.is_add_on IS TRUE           AS is_add_on
    FROM mart.sold_items AS s
    JOIN order_items AS i ON i.id = s.order_item_id
    LEFT JOIN mart.article_progress AS p ON p.article_id = s.article_id
    LEFT JOIN profile_order_items ON profile_order_items.id = s.order_item_id
    WHERE ($since IS NULL OR s.paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR s.paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
-- If an article has two items, its add-ons are counted once.
add_on_counts AS (
    SELECT d.group_id, count(DISTINCT a.article_id) AS articles, count(*) AS add_ons
    FROM (SELECT DISTINCT group_id, article_id FROM items) AS d
    JOIN campaign_article_addons AS a USING (article_id)
    GROUP BY d.group_id
),
groups AS (
    SELECT
        group_id,
        -- the name in the item that was paid last; of equal times, the last in the alphabet
        CASE WHEN group_id IS NULL THEN '(not stated)'
            ELSE arg_max(group_name, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), group_name)) END AS group_name,
        count(*)                                            AS items,
        count(*) FILTER (is_refunded)                       AS refunded,
        count(*) FILTER (is_due)                            AS refund_due,
        count(*) FILTER (is_add_on)                         AS add_on_items,
        coalesce(sum(sale_price), 0)                        AS sales,
        coalesce(sum(sale_price) FILTER (is_refunded), 0)   AS refunded_sales,
        coalesce(sum(sale_price) FILTER (is_due), 0)        AS due_sales,
        coalesce(sum(sale_price) FILTER (is_add_on), 0)     AS add_on_sales
    FROM items
    GROUP BY group_id
)
SELECT
    g.group_id,
    g.group_name,
    g.items,
    g.refunded,
    g.refund_due,
    CAST(g.sales AS DECIMAL(38, 2))                      AS sale_total,
    CAST(g.refunded_sales AS DECIMAL(38, 2))             AS refunded_total,
    CAST(g.due_sales AS DECIMAL(38, 2))                  AS refund_due_total,
    CAST(100 * g.refunded / g.items AS DECIMAL(38, 1))   AS refunded_percent,
    g.add_on_items,
    CAST(g.add_on_sales AS DECIMAL(38, 2))               AS add_on_total,
    coalesce(a.articles, 0)                              AS articles_with_add_ons,
    coalesce(a.add_ons, 0)                               AS add_ons
FROM groups AS g
LEFT JOIN add_on_counts AS a ON a.group_id IS NOT DISTINCT FROM g.group_id
ORDER BY g.refunded_sales DESC, g.items DESC, g.group_id
LIMIT $top
