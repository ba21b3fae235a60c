-- subject: throughput
-- severity: warn
-- title: Statuses of articles without a meaning
-- grain: one row if there are such statuses
-- about: Prefixes of current statuses of articles that are in no list of the section "statuses" of the configuration. Reason: it is unknown who has to act on such an article, and it counts as open. To accept a prefix, add it to a list. Not detected: prefixes that only the history of an article contains.
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; set by the program
WITH unknown AS (
    SELECT status_prefix, count(*) AS articles
    FROM mart.article_progress
    WHERE status_prefix NOT IN (SELECT prefix FROM meta.statuses)
      AND NOT contains($private, ',articles.status_prefix,') AND NOT contains($private, ',article_statuses.prefix,')
    GROUP BY status_prefix
)
SELECT string_agg(status_prefix, ', ' ORDER BY articles DESC, status_prefix) AS prefixes, CAST(sum(articles) AS BIGINT) AS articles,
    'statuses' AS configuration_key
FROM unknown
HAVING count(*) > 0
