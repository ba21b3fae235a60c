-- The open articles that are late. Every query and page that calls an article late reads this view.
WITH open_articles AS (
    SELECT p.article_id, s.promised_at, p.expected_at, n.snapshot_at
    FROM ${mart}.article_progress AS p
    LEFT JOIN ${mart}.sold_items AS s ON s.order_item_id = p.order_item_id
    CROSS JOIN ${mart}.snapshot AS n
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
    CASE WHEN past_promise AND past_expected AND expected_at < promised_at THEN expected_at
        WHEN past_promise THEN promised_at ELSE expected_at END AS late_since
FROM compared
WHERE past_promise OR past_expected
