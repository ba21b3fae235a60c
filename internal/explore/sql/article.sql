-- The page of an article.

-- name: head
-- Some articles are not in the table articles, but in campaign_articles or order_items.
WITH sources AS (
    SELECT 1 AS rank, id, name, campaign_id, status_name, expected_completion_date AS expected_at, live_url, draft_doc_url, brief_doc_url,
        writer_first_name, writer_last_name, valid_from
    FROM history.articles WHERE id = {id}
    UNION ALL
    SELECT 2, id, name, campaign_id, NULL, expected_completion_date, live_url, draft_doc_url, brief_doc_url, writer_first_name, writer_last_name, valid_from
    FROM history.campaign_articles WHERE id = {id}
    UNION ALL
    SELECT 3, article_id, article_name, article_campaign_id, NULL, NULL, NULL, NULL, NULL, article_writer_first_name, article_writer_last_name, valid_from
    FROM history.order_items WHERE article_id = {id}
),
newest AS (SELECT * FROM sources ORDER BY rank, valid_from DESC LIMIT 1)
SELECT
    coalesce(n.name, 'Article ' || n.id) AS title,
    coalesce(a.status_name, n.status_name) AS status, a.waits_for, a.status_since,
    coalesce(c.name, n.campaign_id) AS campaign, n.campaign_id,
    coalesce(a.profile_name, c.profile_name) AS profile, coalesce(a.profile_id, c.profile_id) AS profile_id,
    a.outlet_name AS outlet, a.outlet_id,
    nullif(trim(concat_ws(' ', n.writer_first_name, n.writer_last_name)), '') AS writer,
    s.promised_at AS promised, l.past_promise,
    coalesce(a.expected_at, n.expected_at) AS expected, l.past_expected,
    coalesce(a.live_url, n.live_url) AS live_address,
    coalesce(a.draft_doc_url, n.draft_doc_url) AS draft_address,
    coalesce(a.brief_doc_url, n.brief_doc_url) AS brief_address
FROM newest AS n
LEFT JOIN mart.article_progress AS a ON a.article_id = n.id
LEFT JOIN mart.sold_items AS s ON s.order_item_id = a.order_item_id
LEFT JOIN mart.late_articles AS l ON l.article_id = n.id
LEFT JOIN main.campaigns AS c ON c.id = coalesce(a.campaign_id, n.campaign_id);

-- name: statuses
WITH stays AS (
    SELECT *, lead(effective_at) OVER (ORDER BY effective_at NULLS FIRST, position) AS left_at
    FROM main.article_statuses WHERE article_id = {id}
)
SELECT
    coalesce(name, prefix) AS status,
    effective_at AS entered,
    CAST((epoch_us(coalesce(left_at, (SELECT snapshot_at FROM mart.snapshot))) - epoch_us(effective_at)) / 86400e6 AS DECIMAL(18, 1)) AS days_in_it,
    left_at IS NULL AS present,
    notes
FROM stays
ORDER BY effective_at NULLS FIRST, position;

-- name: announced
-- Status changes from webhook events.
SELECT status_prefix AS status, effective_at AS effective, changed_at AS changed, received_at AS received, source
FROM main.article_status_events WHERE article_id = {id} ORDER BY coalesce(effective_at, changed_at, received_at), event_id;

-- name: comments
-- The comments of an article. Each comment is followed by its replies.
WITH threaded_comments AS (
    SELECT c.*, coalesce(parent.created_at, c.created_at) AS thread_at, coalesce(c.parent_comment_id, c.id) AS thread
    FROM main.article_comments AS c
    LEFT JOIN main.article_comments AS parent ON parent.article_id = c.article_id AND parent.id = c.parent_comment_id
    WHERE c.article_id = {id}
)
SELECT author_name AS author, created_at AS written, CASE WHEN updated_at <> created_at THEN updated_at END AS edited, parent_comment_id IS NOT NULL AS reply, content AS text
FROM threaded_comments
ORDER BY thread_at, thread, parent_comment_id IS NOT NULL, created_at, id;

-- name: archived
-- Edited and archived comments from webhook events.
SELECT e.topic, e.author_name AS author, e.updated_at AS changed, e.received_at AS received, e.content_text AS text
FROM main.article_comment_events AS e
WHERE e.topic <> 'comment.created' AND e.comment_id IN (SELECT id FROM history.article_comments WHERE article_id = {id})
ORDER BY e.received_at, e.event_id;

-- name: files
-- A row of article_files may contain only the id of a file. The name is then taken from the table files
-- or from another row of article_files.
WITH file_names AS (
    SELECT id, arg_min(name, rank) AS name
    FROM (
        SELECT 1 AS rank, id, name FROM main.files
        UNION ALL
        SELECT 2, coalesce(id, value), name FROM main.article_files
    )
    WHERE name IS NOT NULL GROUP BY id
)
SELECT coalesce(f.name, n.name, f.file_key, f.value, f.id) AS file, f.file_url AS address, f.mime_type AS type, f.size AS bytes, f.created_at AS created,
    f.deleted_at AS deleted
FROM main.article_files AS f
LEFT JOIN file_names AS n ON n.id = coalesce(f.id, f.value)
WHERE f.article_id = {id} ORDER BY f.position;

-- name: items
SELECT
    coalesce(o.reference_number, i.order_id) AS "order", i.order_id,
    i.product_name AS product, i.product_id, i.outlet_name AS outlet, i.outlet_id,
    coalesce(i.date_paid, o.date_paid) AS paid, i.sale_price, i.commission_amount AS commission, i.commission_status
FROM main.order_items AS i
LEFT JOIN main.orders AS o ON o.id = i.order_id
WHERE i.article_id = {id} OR i.id IN (SELECT order_item_id FROM main.campaign_articles WHERE id = {id})
ORDER BY i.id;

-- name: addons
SELECT 'add-on' AS kind, coalesce(name, id) AS name FROM main.campaign_article_addons WHERE article_id = {id}
UNION ALL
SELECT 'included', concat_ws(', ', channel_type, placement_type) FROM main.campaign_article_includes WHERE article_id = {id}
ORDER BY 1, 2;

-- name: list
-- The rows of the page Articles.
SELECT a.article_name AS article, a.article_id, a.status_name AS status, a.waits_for, a.status_since,
    coalesce(l.past_promise, false) AS past_promise, a.expected_at AS expected, coalesce(l.past_expected, false) AS past_expected,
    a.campaign_name AS campaign, a.campaign_id, a.profile_name AS profile, a.profile_id, a.outlet_name AS outlet, a.outlet_id,
    a.writer_name AS writer, a.live_url AS address,
    concat_ws(' ', a.article_name, a.article_id, a.status_name, a.campaign_name, a.profile_name, a.outlet_name, a.writer_name) AS search_text
FROM mart.article_progress AS a
LEFT JOIN mart.late_articles AS l USING (article_id)
ORDER BY coalesce(a.status_since, a.started_at) DESC NULLS LAST, a.article_id;
