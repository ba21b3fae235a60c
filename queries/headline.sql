-- subject: quality
-- title: Headline numbers
-- grain: one row per measure: rows of all tables, then listings, outlets, orders, order items, campaigns and articles
-- about: Counts of the newest snapshot, compared with the previous snapshot and with the newest snapshot that is at least 7 days older. A number is empty if no snapshot is old enough, or if the snapshot lacks the table. Articles are counted in the table articles or in campaign_articles, whichever has more. The counts include records that the service marked as deleted but still returns.
-- also: overview, total, count, summary, rows, KPI
WITH snapshots AS (
    SELECT
        run_id,
        snapshot_at,
        row_number() OVER (ORDER BY snapshot_at DESC)                     AS age_rank,
        max(snapshot_at) OVER ()                                             AS newest_at
    FROM meta.runs
    WHERE snapshot_at IS NOT NULL
),
compared_runs AS (
    SELECT
        arg_min(run_id, age_rank)                                            AS newest,
        arg_min(run_id, age_rank) FILTER (age_rank = 2)                      AS previous,
        arg_min(run_id, age_rank) FILTER (snapshot_at <= newest_at - INTERVAL 7 DAY) AS week_ago
    FROM snapshots
),
measures AS (
    SELECT * FROM (VALUES (1, 'rows', NULL), (2, 'listings', 'product_listings'), (3, 'outlets', 'outlets'), (4, 'orders', 'orders'),
        (5, 'order_items', 'order_items'), (6, 'campaigns', 'campaigns'), (7, 'articles', 'articles'), (7, 'articles', 'campaign_articles'))
        AS m(position, measure, table_name)
),
table_counts AS (
    SELECT
        m.position,
        m.measure,
        m.table_name,
        TRY_CAST(sum(t.rows) FILTER (t.run_id = c.newest) AS BIGINT)   AS value,
        TRY_CAST(sum(t.rows) FILTER (t.run_id = c.previous) AS BIGINT) AS previous,
        TRY_CAST(sum(t.rows) FILTER (t.run_id = c.week_ago) AS BIGINT) AS week_ago
    FROM measures AS m
    CROSS JOIN compared_runs AS c
    LEFT JOIN meta.tables AS t ON t.run_id IN (c.newest, c.previous, c.week_ago)
        AND (m.table_name IS NULL OR t.table_name = m.table_name)
    GROUP BY m.position, m.measure, m.table_name
),
counts AS (
    SELECT position, measure, max(value) AS value, max(previous) AS previous, max(week_ago) AS week_ago
    FROM table_counts
    GROUP BY position, measure
)
SELECT
    measure,
    value,
    previous,
    week_ago,
    TRY_CAST(CAST(value AS HUGEINT) - previous AS BIGINT) AS change_previous,
    TRY_CAST(CAST(value AS HUGEINT) - week_ago AS BIGINT) AS change_week
FROM counts
ORDER BY position
