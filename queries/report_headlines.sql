-- subject: report
-- title: Headline numbers of the report
-- grain: one row per figure, and per pricing tier and currency for the median prices
-- about: Numbers at the top of the report; with --as-of, for an earlier snapshot. Deleted articles are left out. The numbers equal the results of other queries: the listings and outlets in "headline", the payables in "payables_ageing", the late articles in "overdue_articles", and the margin in "margins". Days have 24 hours. Sums have no currency: they are valid only if all amounts are in the same currency. The column "reads" contains the tables that a figure needs; if one of them was not read, the figure is not valid. With "since", change_percent is the median change since that snapshot, for prices of the same listing, tier and currency. The column "compared" counts these listings.
-- also: overview, summary, KPI
-- param: prices COUNT? 3 -- number of pairs of tier and currency with a median price; pairs with the most prices come first
-- param: since TIMESTAMPTZ NULL -- time of an earlier snapshot; the current prices are compared with its prices
WITH clock AS (
    SELECT snapshot_at AS now FROM mart.snapshot
),
tier_medians AS (
    SELECT pricing_tier, currency, count(*) AS prices, quantile_disc(unit_amount, 0.5) AS median
    FROM mart.listing_prices
    GROUP BY ALL
    ORDER BY prices DESC, pricing_tier, currency
    LIMIT $prices
),
current_prices AS (
    SELECT listing_id, pricing_tier, currency, unit_amount,
        row_number() OVER (PARTITION BY listing_id, pricing_tier, currency ORDER BY position) AS price_number
    FROM mart.listing_prices
),
earlier_prices AS (
    SELECT product_listing_id AS listing_id, pricing_tier, currency, unit_amount,
        row_number() OVER (PARTITION BY product_listing_id, pricing_tier, currency ORDER BY position) AS price_number
    FROM history.product_listing_prices
    WHERE valid_from <= CAST($since AS TIMESTAMPTZ) AND coalesce(valid_to > CAST($since AS TIMESTAMPTZ), true) AND unit_amount IS NOT NULL
),
changes AS (
    SELECT p.pricing_tier, p.currency, count(DISTINCT listing_id) AS compared,
        quantile_disc((CAST(p.unit_amount AS DECIMAL(38, 6)) - e.unit_amount) / e.unit_amount, 0.5) AS change
    FROM current_prices AS p
    JOIN earlier_prices AS e USING (listing_id, price_number)
    WHERE e.unit_amount <> 0
      AND e.pricing_tier IS NOT DISTINCT FROM p.pricing_tier
      AND e.currency IS NOT DISTINCT FROM p.currency
    GROUP BY ALL
),
recent_items AS (
    SELECT margin FROM mart.order_item_margins, clock WHERE NOT is_refunded AND paid_at > now - INTERVAL 720 HOURS AND paid_at <= now
),
-- A sum of payables is 0 if there are no items. It is NULL if no item states such an amount.
stated AS (
    SELECT
        count(commission_amount) > 0 OR count(*) = 0 AS commissions_are_known,
        count(vendor_cost) > 0 OR count(*) = 0       AS vendor_costs_are_known
    FROM order_items
),
figures AS (
    SELECT 1 AS position, 'Product listings' AS figure, NULL AS unit, count(*) AS value, 'product_listings' AS reads, NULL AS compared, NULL AS change FROM product_listings
    UNION ALL
    SELECT 2, 'Outlets', NULL, count(*), 'outlets', NULL, NULL FROM outlets
    UNION ALL
    SELECT 3, 'Median price, ' || coalesce(m.pricing_tier, 'no tier'), coalesce(m.currency, 'no currency'), median, 'product_listings,product_listing_prices',
        coalesce(compared, 0), change
    FROM tier_medians AS m
    LEFT JOIN changes AS c ON c.pricing_tier IS NOT DISTINCT FROM m.pricing_tier AND c.currency IS NOT DISTINCT FROM m.currency
    UNION ALL
    SELECT 4, 'Orders paid, 30 days', NULL, count(*), 'orders', NULL, NULL
    FROM orders, clock WHERE deleted_at IS NULL AND date_paid > now - INTERVAL 720 HOURS AND date_paid <= now
    UNION ALL
    SELECT 5, 'Margin, 30 days', 'amount', CASE WHEN count(*) = 0 THEN 0 ELSE sum(margin) END, 'order_items', NULL, NULL FROM recent_items
    UNION ALL
    SELECT 5, 'Sold items without a known margin, 30 days', NULL, count(*), 'order_items', NULL, NULL FROM recent_items WHERE margin IS NULL
    UNION ALL
    SELECT 6, 'Unpaid commissions', 'amount', CASE WHEN (SELECT commissions_are_known FROM stated) THEN coalesce(sum(amount), 0) END, 'order_items', NULL, NULL
    FROM mart.payables WHERE kind = 'commission' AND NOT is_settled
    UNION ALL
    SELECT 7, 'Owed to publishers', 'amount', CASE WHEN (SELECT vendor_costs_are_known FROM stated) THEN coalesce(sum(amount), 0) END, 'order_items', NULL, NULL
    FROM mart.payables WHERE kind = 'publisher' AND NOT is_settled
    UNION ALL
    SELECT 8, 'Articles in progress', NULL, count(*), 'campaign_articles', NULL, NULL FROM mart.article_progress WHERE state = 'open'
    UNION ALL
    SELECT 9, 'Articles past the promised date', NULL, count(*), 'campaign_articles,order_items', NULL, NULL FROM mart.late_articles WHERE past_promise
    UNION ALL
    SELECT 10, 'Articles past the expected date', NULL, count(*), 'campaign_articles', NULL, NULL FROM mart.late_articles WHERE past_expected
    UNION ALL
    SELECT 11, 'Articles published, 7 days', NULL, count(*), 'article_statuses', NULL, NULL
    FROM mart.article_progress, clock WHERE published_at > now - INTERVAL 168 HOURS AND published_at <= now
)
SELECT
    figure,
    unit,
    CAST(value AS DECIMAL(38, 2)) AS value,
    reads,
    compared,
    CAST(100 * change AS DECIMAL(38, 1)) AS change_percent
FROM figures
ORDER BY position, figure, unit
