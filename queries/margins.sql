-- subject: margins
-- title: Sales and margin
-- grain: one row per group, as chosen with "by", and one for items without a group; with "monthly", one row per group and month
-- about: Sales and margin by group. The margin is the sale price less vendor, internal and reseller cost and commission. Only items with known costs are summed. The costs of an item are known if it states the vendor cost and the internal cost; if no item at all states an internal cost, the vendor cost is enough. items_with_margin counts these items, margin_known_percent is their share of the items, and margin_percent the share of the margin in their sales. A cost that no item of the group states is empty. Costs of items without a sale price are not summed. Items are dated by the payment of their order; unpaid items count only without "since" and "until". Months are in order of time; other groups begin with the largest margin, and groups in which less than half of the items have a margin come last. Items have no currency: the sums are valid only if all items are in the same currency.
-- also: profit, revenue, commission, earn, earned, earning, cost, profitable, best, outlets, clients, products, writers, month
-- columns: first group_name margin_total margin_percent sale_total items month margin_known_percent orders
-- chart: bar x=group_name y=margin_total
-- heading: margin_known_percent Items with known margin, %
-- heading: margin_percent Margin, % of sales
-- heading: commission_percent Commission, % of sales
-- param: by month|outlet|profile|product|referrer|writer month -- grouping of the rows
-- param: monthly BOOLEAN false -- one row per group and month
-- param: since DATE NULL -- only items whose order was paid on or after this date
-- param: until DATE NULL -- only items whose order was paid before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates and months begin, such as America/New_York
-- param: include_refunded BOOLEAN false -- count refunded items too
-- param: top COUNT NULL -- maximum number of rows
WITH items AS (
    SELECT
        m.*,
        CASE $by
            WHEN 'month' THEN strftime(date_trunc('month', m.paid_at AT TIME ZONE CAST($timezone AS VARCHAR)), '%Y-%m-%d')
            WHEN 'outlet' THEN m.outlet_id
            WHEN 'profile' THEN s.profile_id
            WHEN 'product' THEN m.product_id
            WHEN 'referrer' THEN s.referrer_id
            WHEN 'writer' THEN coalesce(i.article_writer_id, p.writer_id)
        END AS group_id,
        CASE $by
            WHEN 'month' THEN strftime(m.paid_at AT TIME ZONE CAST($timezone AS VARCHAR), '%Y-%m')
            WHEN 'outlet' THEN m.outlet_name
            WHEN 'profile' THEN s.profile_name
            WHEN 'product' THEN m.product_name
            WHEN 'referrer' THEN NULL -- referrers have no name
            WHEN 'writer' THEN coalesce(nullif(trim(concat_ws(' ', i.article_writer_first_name, i.article_writer_last_name)), ''), p.writer_name)
        END AS group_name,
        CASE WHEN $monthly THEN CAST(date_trunc('month', m.paid_at AT TIME ZONE CAST($timezone AS VARCHAR)) AS DATE) END AS month
    FROM mart.order_item_margins AS m
    JOIN mart.sold_items AS s USING (order_item_id)
    JOIN order_items AS i ON i.id = m.order_item_id
    LEFT JOIN mart.article_progress AS p ON $by = 'writer' AND p.article_id = s.article_id
    WHERE ($include_refunded OR NOT m.is_refunded)
      AND ($since IS NULL OR m.paid_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
      AND ($until IS NULL OR m.paid_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
),
sums AS (
    SELECT
        group_id,
        month,
        -- the name in the item that was paid last; of equal times, the last in the alphabet
        CASE WHEN group_id IS NULL THEN '(not stated)'
            ELSE arg_max(group_name, (coalesce(paid_at, TIMESTAMPTZ '-infinity'), group_name)) END AS group_name,
        count(DISTINCT order_id)                               AS orders,
        count(*)                                               AS items,
        count(*) FILTER (sale_price IS NULL)                   AS items_without_sale_price,
        count(*) FILTER (vendor_cost IS NULL)                  AS items_without_vendor_cost,
        count(margin)                                          AS items_with_margin,
        coalesce(sum(sale_price), 0)                           AS sales,
        sum(sale_price) FILTER (margin IS NOT NULL)            AS known_sales,
        sum(vendor_cost) FILTER (sale_price IS NOT NULL)       AS vendor,
        sum(internal_cost) FILTER (sale_price IS NOT NULL)     AS internal,
        sum(reseller_price) FILTER (sale_price IS NOT NULL)    AS reseller,
        sum(commission_amount) FILTER (sale_price IS NOT NULL) AS commission,
        sum(margin)                                            AS margin
    FROM items
    GROUP BY group_id, month
)
SELECT
    group_id,
    group_name,
    month,
    orders,
    items,
    items_without_sale_price,
    items_without_vendor_cost,
    items_with_margin,
    CAST(100 * items_with_margin / items AS DECIMAL(38, 1)) AS margin_known_percent,
    CAST(sales AS DECIMAL(38, 2))      AS sale_total,
    CAST(vendor AS DECIMAL(38, 2))     AS vendor_cost_total,
    CAST(internal AS DECIMAL(38, 2))   AS internal_cost_total,
    CAST(reseller AS DECIMAL(38, 2))   AS reseller_total,
    CAST(commission AS DECIMAL(38, 2)) AS commission_total,
    CAST(margin AS DECIMAL(38, 2))     AS margin_total,
    CAST(100 * margin / nullif(known_sales, 0) AS DECIMAL(38, 1)) AS margin_percent,
    CAST(100 * commission / nullif(sales, 0) AS DECIMAL(38, 1)) AS commission_percent
FROM sums
ORDER BY CASE WHEN $by = 'month' THEN group_id END, month, 2 * items_with_margin < items, margin DESC NULLS LAST, group_id
LIMIT $top
