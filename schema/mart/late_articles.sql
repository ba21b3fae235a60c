-- The open articles that are late. Every query and page that calls an article late reads this view.
-- grain: one row per late article
CREATE VIEW mart.late_articles AS
WITH open_articles AS (
    SELECT p.article_id, s.promised_at, p.expected_at, n.snapshot_at
    FROM mart.article_progress AS p
    LEFT JOIN mart.sold_items AS s ON s.order_item_id = p.order_item_id
    CROSS JOIN mart.snapshot AS n
    WHERE p.state = 'open' AND NOT coalesce(s.is_refunded, false)
),
compared AS (
    SELECT
        article_id,
        promised_at,
        expected_at,
        coalesce(promised_at < snapshot_at, false) AS past_promise,
        coalesce(expected_at < snapshot_at, false) AS past_expected
    FROM open_articles
)
SELECT
    article_id,
    promised_at,
    expected_at,
    past_promise,
    past_expected,
    -- The earlier date is always a past one. least ignores NULL.
    least(promised_at, expected_at) AS late_since
FROM compared
WHERE past_promise OR past_expected;

COMMENT ON VIEW mart.late_articles IS 'Open articles whose promised or expected date is before the snapshot, one row per article. Articles of refunded items are left out. mart.article_progress has the other facts about the same articles.';
COMMENT ON COLUMN mart.late_articles.article_id IS 'Id of the article: articles.id.'; -- VARCHAR
COMMENT ON COLUMN mart.late_articles.promised_at IS 'Promised date of the item: payment of the order plus the longest delivery time, UTC; NULL if one of them is unknown.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.late_articles.expected_at IS 'Expected date that the service states, UTC; NULL if it states none.'; -- TIMESTAMPTZ
COMMENT ON COLUMN mart.late_articles.past_promise IS 'Whether the promised date is before the snapshot.'; -- BOOLEAN
COMMENT ON COLUMN mart.late_articles.past_expected IS 'Whether the expected date is before the snapshot.'; -- BOOLEAN
COMMENT ON COLUMN mart.late_articles.late_since IS 'The promised or the expected date, whichever passed first, UTC.'; -- TIMESTAMPTZ
