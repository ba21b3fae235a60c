-- What campaigns have spent and committed of their budgets.
-- grain: one row per campaign
CREATE VIEW mart.campaign_spending AS
WITH campaign_items AS (
    SELECT
        p.campaign_id,
        s.order_item_id,
        s.sale_price,
        max(CASE WHEN p.state = 'open' THEN 1 ELSE 0 END) AS has_open_article
    FROM mart.article_progress AS p
    JOIN mart.sold_items AS s ON s.order_item_id = p.order_item_id
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
    FROM mart.article_progress
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
    FROM main.campaigns AS c
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
FROM sums;

COMMENT ON VIEW mart.campaign_spending IS 'Campaigns with their budget and the sale prices of their items, one row per campaign that is not marked deleted. Refunded items are left out. An item of several articles of a campaign counts once. The specification defines no currency for budgets and items.';
COMMENT ON COLUMN mart.campaign_spending.campaign_id IS 'Id of the campaign: campaigns.id.'; -- VARCHAR
COMMENT ON COLUMN mart.campaign_spending.budget IS 'Budget of the campaign; NULL if unknown.'; -- DECIMAL(18,6)
COMMENT ON COLUMN mart.campaign_spending.spent IS 'Sale prices of the items whose articles are all published or ended; NULL if none of these items has a price.'; -- DECIMAL(38,6)
COMMENT ON COLUMN mart.campaign_spending.committed IS 'Sale prices of the items with an open article; NULL if none of these items has a price.'; -- DECIMAL(38,6)
COMMENT ON COLUMN mart.campaign_spending.budget_left IS 'budget less spent and committed, negative if they exceed it; NULL if one of them is NULL.'; -- DECIMAL(38,6)
COMMENT ON COLUMN mart.campaign_spending.items_without_price IS 'Number of items that the sums leave out, because they have no sale price.'; -- BIGINT
COMMENT ON COLUMN mart.campaign_spending.articles IS 'Number of articles.'; -- BIGINT
COMMENT ON COLUMN mart.campaign_spending.open_articles IS 'Number of articles that are neither published nor ended.'; -- BIGINT
