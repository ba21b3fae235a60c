-- subject: throughput
-- severity: warn
-- title: Articles with a live address but no published status
-- grain: one row per article
-- about: Articles that have a live address, but no status that means published. Reason: reports count published articles by their status, so these articles are missing. Not detected: published articles without an address.
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; set by the program
SELECT id, name, live_url, status_prefix
FROM articles
WHERE live_url IS NOT NULL AND (status_prefix IN (SELECT prefix FROM meta.statuses WHERE state = 'published')) IS NOT TRUE
  AND NOT contains($private, ',articles.status_prefix,')
ORDER BY id
