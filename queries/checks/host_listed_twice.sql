-- subject: placements
-- severity: warn
-- title: The same host under different outlets
-- grain: one row per host
-- about: Hosts that are the website of more than one outlet. www. and upper case are ignored.
SELECT lower(regexp_extract(website_url, '^(?:[a-zA-Z]+://)?(?:www\.)?([^/:?#]+)', 1)) AS host, count(*) AS outlets, list(id ORDER BY id)[:5] AS outlet_ids
FROM outlets
WHERE website_url IS NOT NULL
GROUP BY host
HAVING outlets > 1 AND host <> ''
ORDER BY host
