-- subject: quality
-- severity: warn
-- title: More rejects or drift than before
-- grain: one row per table and kind
-- about: Tables with more than twice as many rejected values as in the previous snapshot, and tables with more new drift, such as unknown fields, tonight than on any earlier night. Reason: the service may have changed its records. Not detected: values of the right type with another meaning.
-- param: factor DECIMAL 2 -- allowed growth of the rejected values, as a factor
-- param: min_rejects COUNT 20 -- leave out tables with fewer additional rejects
-- param: min_drift COUNT 5 -- leave out tables with less new drift
-- param: run VARCHAR NULL -- run of the snapshot; set by the program
WITH reject_counts AS (SELECT table_name, count(*) AS findings FROM meta.rejects GROUP BY table_name),
reject_counts_before AS (SELECT table_name, count(*) AS findings FROM before.meta.rejects GROUP BY table_name),
drift_counts AS (SELECT table_name, first_run, count(*) AS findings FROM meta.drift GROUP BY ALL)
SELECT table_name, 'rejects' AS kind, coalesce(b.findings, 0) AS before, r.findings AS now
FROM reject_counts AS r LEFT JOIN reject_counts_before AS b USING (table_name)
WHERE r.findings - coalesce(b.findings, 0) >= $min_rejects AND r.findings > coalesce(b.findings, 0) * CAST($factor AS DECIMAL(9, 3))
UNION ALL
SELECT d.table_name, 'drift', coalesce(max(b.findings), 0), d.findings
FROM drift_counts AS d LEFT JOIN drift_counts AS b ON b.table_name = d.table_name AND b.first_run < d.first_run
WHERE d.first_run = $run
GROUP BY d.table_name, d.findings
HAVING d.findings >= $min_drift AND d.findings > coalesce(max(b.findings), 0)
ORDER BY ALL
