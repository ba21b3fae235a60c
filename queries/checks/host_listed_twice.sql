-- subject: placements
-- severity: warn
-- title: The same host under different outlets
-- grain: one row per host
-- about: Hosts that are the website of more than one outlet. Reason: the prices and orders of one site are counted for different outlets. www. and upper case are ignored. Not detected: the same site under another domain. Sections of one site with outlets of their own are reported too.
SELECT lower(regexp_extract(website_url, '^(?:[a-zA-Z]+://)?(?:www\.)?([^/:?#]+)', 1)) AS host, count(*) AS outlets, list(id ORDER BY id)[:5] AS outlet_ids
FROM outlets
GROUP BY host
HAVING outlets > 1 AND host <> ''
ORDER BY host
