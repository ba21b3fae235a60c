-- subject: throughput
-- title: Comments and revisions by article
-- grain: one row per article, most rounds of revision first
-- about: Discussion of each article: comments, replies, distinct authors (by e-mail address, or by name if there is none), and the number of times that the article entered a status that requests a revision. An article begins when it is created, or when it enters its first status if the creation time is unknown. The service returns neither internal nor archived comments.
-- also: feedback, revision, rounds, replies, conversation
-- heading: status_prefix Status code
-- param: since DATE NULL -- only articles that began on or after this date
-- param: until DATE NULL -- only articles that began before this date
-- param: timezone TIMEZONE schedule.timezone -- time zone in which dates begin, such as America/New_York
-- param: open_only BOOLEAN false -- only articles that are neither published nor ended
WITH comment_counts AS (
    SELECT
        article_id,
        count(*) FILTER (parent_comment_id IS NULL)        AS comments,
        count(*) FILTER (parent_comment_id IS NOT NULL)    AS replies,
        count(DISTINCT coalesce(author_email, author_name)) AS commenters,
        max(created_at)                                    AS last_comment_at
    FROM article_comments
    GROUP BY article_id
),
revision_counts AS (
    SELECT article_id, count(*) AS revision_rounds
    FROM article_statuses
    JOIN meta.statuses USING (prefix)
    WHERE is_revision
    GROUP BY article_id
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
FROM mart.article_progress AS p
LEFT JOIN comment_counts AS c USING (article_id)
LEFT JOIN revision_counts AS r USING (article_id)
WHERE (NOT $open_only OR p.state = 'open')
  AND ($since IS NULL OR p.started_at >= CAST(CAST($since AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
  AND ($until IS NULL OR p.started_at < CAST(CAST($until AS DATE) AS TIMESTAMP) AT TIME ZONE CAST($timezone AS VARCHAR))
ORDER BY revision_rounds DESC, comments + replies DESC, article_id
