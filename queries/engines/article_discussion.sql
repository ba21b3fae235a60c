-- Comments and revisions by article
WITH params AS (
    SELECT
        CAST(NULL AS DATE) AS since,
        CAST(NULL AS DATE) AS until,
        CAST('UTC' AS {{text}}) AS timezone,
        CAST('revision_requested' AS {{text}}) AS revision,
        CAST(false AS BOOLEAN) AS open_only,
        CAST('published,live' AS {{text}}) AS published,
        CAST('cancelled,canceled,rejected,archived' AS {{text}}) AS ended
),
comment_counts AS (
    SELECT
        article_id,
        count(*) FILTER (WHERE parent_comment_id IS NULL)     AS comments,
        count(*) FILTER (WHERE parent_comment_id IS NOT NULL) AS replies,
        count(DISTINCT coalesce(author_email, author_name))   AS commenters,
        max(created_at)                                       AS last_comment_at
    FROM ${current}.article_comments
    GROUP BY article_id
),
revision_counts AS (
    SELECT s.article_id, count(*) AS revision_rounds
    FROM ${current}.article_statuses AS s
    CROSS JOIN params
    WHERE {{has "split(params.revision, ',')" "s.prefix"}}
    GROUP BY s.article_id
)
SELECT
    p.article_id,
    p.article_name,
    p.writer_name,
    p.status_prefix,
    coalesce(c.comments, 0)        AS comments,
    coalesce(c.replies, 0)         AS replies,
    coalesce(c.commenters, 0)      AS commenters,
    coalesce(r.revision_rounds, 0) AS revision_rounds,
    c.last_comment_at
FROM ${mart}.article_progress AS p
CROSS JOIN params
LEFT JOIN comment_counts AS c ON c.article_id = p.article_id
LEFT JOIN revision_counts AS r ON r.article_id = p.article_id
WHERE (NOT params.open_only
    OR (p.live_url IS NULL AND NOT coalesce({{has "split(params.published || ',' || params.ended, ',')" "p.status_prefix"}}, false)))
  AND (params.since IS NULL
    OR p.started_at >= {{midnight "params.since" "params.timezone"}})
  AND (params.until IS NULL
    OR p.started_at < {{midnight "params.until" "params.timezone"}})
ORDER BY coalesce(r.revision_rounds, 0) DESC, coalesce(c.comments, 0) + coalesce(c.replies, 0) DESC, p.article_id
