-- subject: throughput
-- severity: warn
-- title: Live articles that are not published
-- grain: one row per article
-- about: Articles with a live address whose status is not a published status.
-- param: published VARCHAR published -- the statuses of published articles, separated by commas
SELECT id, name, live_url, status_prefix
FROM articles
WHERE live_url IS NOT NULL AND NOT list_contains(string_split($published, ','), status_prefix)
ORDER BY id
