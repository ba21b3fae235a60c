-- What campaigns have spent and committed of their budgets.
WITH campaign_items AS (
    SELECT
        p.campaign_id,
        s.order_item_id,
        s.sale_price,
        max(CASE WHEN p.state = 'open' THEN 1 ELSE 0 END) AS has_open_article
    FROM ${mart}.article_progress AS p
    JOIN ${mart}.sold_items AS s ON s.order_item_id = p.order_item_id
    WHERE NOT s.is_refunded
    GROUP BY p.campaign_id, s.order_item_id, s.sale_price
),
item_sums AS (
    SELECT
        campaign_id,
        count(*) - count(sale_price)                                    AS items_without_price,
        count(CASE WHEN has_open_article = 0 THEN 1 END)                AS finished_items,
        count(CASE WHEN has_open_article = 1 THEN 1 END)                AS open_items,
        CAST(sum(CASE WHEN has_open_article = 0 THEN sale_price END) AS DECIMAL(38, 6)) AS finished_sales,
        CAST(sum(CASE WHEN has_open_article = 1 THEN sale_price END) AS DECIMAL(38, 6)) AS open_sales
    FROM campaign_items
    GROUP BY campaign_id
),
article_counts AS (
    SELECT campaign_id, count(*) AS articles, count(CASE WHEN state = 'open' THEN 1 END) AS open_articles
    FROM ${mart}.article_progress
    GROUP BY campaign_id
),
sums AS (
    SELECT
        c.id AS campaign_id,
        c.budget,
        CASE WHEN i.finished_items > 0 THEN i.finished_sales ELSE 0 END AS spent,
        CASE WHEN i.open_items > 0 THEN i.open_sales ELSE 0 END         AS committed,
        coalesce(i.items_without_price, 0)                              AS items_without_price,
        coalesce(a.articles, 0)                                         AS articles,
        coalesce(a.open_articles, 0)                                    AS open_articles
    FROM ${current}.campaigns AS c
    LEFT JOIN item_sums AS i ON i.campaign_id = c.id
    LEFT JOIN article_counts AS a ON a.campaign_id = c.id
    WHERE c.deleted_at IS NULL
)
SELECT
    campaign_id,
    budget,
    spent,
    committed,
    CAST(budget AS DECIMAL(38, 6)) - spent - committed AS budget_left,
    items_without_price,
    articles,
    open_articles
FROM sums
