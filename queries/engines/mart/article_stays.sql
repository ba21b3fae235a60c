-- The time that articles spent in each status.
SELECT
    article_id,
    position,
    prefix       AS status_prefix,
    name         AS status_name,
    effective_at AS began_at,
    lead(effective_at) OVER (PARTITION BY article_id ORDER BY effective_at, position) AS ended_at
FROM ${current}.article_statuses
WHERE effective_at IS NOT NULL
