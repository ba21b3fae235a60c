-- subject: report
-- title: Headline numbers of the report
-- grain: one row per figure, and per pricing tier and currency for the median prices
-- about: Numbers at the top of the report; with --as-of, those of an earlier snapshot. Each is a summary of another query: listings and outlets of headline, payables of payables_ageing, overdue articles of overdue_articles, and the margin of margins. Days have 24 hours. Amounts have no currency: the sums assume a single one. reads lists the tables of the figure: without one of them it is not valid.
-- param: prices COUNT? 3 -- number of tiers and currencies with a median price, those with most prices first
-- param: published VARCHAR published,live -- status prefixes of an article that is published, separated by commas
-- param: ended VARCHAR cancelled,canceled,rejected,archived -- status prefixes of an article that ended unpublished
WITH clock AS (
    SELECT snapshot_at AS now FROM mart.snapshot
),
markets AS (
    SELECT pricing_tier, currency, count(*) AS prices, quantile_disc(unit_amount, 0.5) AS median
    FROM mart.listing_prices
    GROUP BY ALL
    ORDER BY prices DESC, pricing_tier, currency
    LIMIT $prices
),
open_articles AS (
    SELECT expected_at
    FROM mart.article_progress
    WHERE live_url IS NULL
      AND list_contains(string_split($published || ',' || $ended, ','), status_prefix) IS NOT TRUE
),
publications AS (
    SELECT article_id, min(began_at) AS live_at
    FROM mart.article_stays
    WHERE list_contains(string_split($published, ','), status_prefix)
    GROUP BY article_id
),
figures AS (
    SELECT 1 AS position, 'Product listings' AS figure, NULL AS unit, count(*) AS value, 'product_listings' AS reads FROM product_listings
    UNION ALL
    SELECT 2, 'Outlets', NULL, count(*), 'outlets' FROM outlets
    UNION ALL
    SELECT 3, 'Median price, ' || coalesce(pricing_tier, 'no tier'), coalesce(currency, 'no currency'), median, 'product_listings,product_listing_prices' FROM markets
    UNION ALL
    SELECT 4, 'Orders paid, 30 days', NULL, count(*), 'orders'
    FROM orders, clock WHERE deleted_at IS NULL AND date_paid > now - INTERVAL 720 HOURS AND date_paid <= now
    UNION ALL
    SELECT 5, 'Margin, 30 days', 'amount', coalesce(sum(margin), 0), 'order_items'
    FROM mart.order_item_margins, clock WHERE NOT is_refunded AND paid_at > now - INTERVAL 720 HOURS AND paid_at <= now
    UNION ALL
    SELECT 6, 'Unpaid commissions', 'amount', coalesce(sum(amount), 0), 'order_items'
    FROM mart.payables WHERE kind = 'commission' AND NOT is_settled
    UNION ALL
    SELECT 7, 'Owed to publishers', 'amount', coalesce(sum(amount), 0), 'order_items'
    FROM mart.payables WHERE kind = 'publisher' AND NOT is_settled
    UNION ALL
    SELECT 8, 'Articles in progress', NULL, count(*), 'campaign_articles' FROM open_articles
    UNION ALL
    SELECT 9, 'Articles overdue', NULL, count(*), 'articles' FROM open_articles, clock WHERE expected_at < now
    UNION ALL
    SELECT 10, 'Articles published, 7 days', NULL, count(*), 'article_statuses'
    FROM publications, clock WHERE live_at > now - INTERVAL 168 HOURS AND live_at <= now
)
SELECT
    figure,
    unit,
    CAST(value AS DECIMAL(18, 2)) AS value,
    reads
FROM figures
ORDER BY position, figure, unit
