-- subject: quality
-- severity: warn
-- title: More rejects or drift than before
-- grain: one row per table and kind
-- about: Tables whose rejected values have more than doubled since the previous snapshot, and tables whose new drift, such as unknown fields, is more than twice that of any earlier night. If more than a day passed since the previous snapshot, the allowed numbers are multiplied by the number of days. Reason: the service may have changed its records. Not detected: values of the right type with another meaning.
-- param: factor DECIMAL 2 -- allowed growth, as a factor
-- param: min_rejects COUNT 20 -- leave out tables with fewer additional rejects
-- param: min_drift COUNT 5 -- leave out tables with less additional drift
-- param: run VARCHAR NULL -- run of the snapshot; set by the program
WITH gap AS (
    SELECT greatest(1, date_diff('day', max(b.snapshot_at), any_value(n.snapshot_at))) AS days
    FROM meta.runs AS n JOIN meta.runs AS b ON b.snapshot_at < n.snapshot_at
    WHERE n.run_id = $run
),
reject_counts AS (SELECT table_name, count(*) AS findings FROM meta.rejects GROUP BY table_name),
-- The catalog "before" contains the previous snapshot.
reject_counts_before AS (SELECT table_name, count(*) AS findings FROM before.meta.rejects GROUP BY table_name),
drift_counts AS (SELECT table_name, first_run, count(*) AS findings FROM meta.drift GROUP BY ALL),
findings AS (
    SELECT r.table_name, 'rejects' AS kind, coalesce(b.findings, 0) AS findings_before, r.findings AS findings_now, $min_rejects AS min_additional
    FROM reject_counts AS r LEFT JOIN reject_counts_before AS b USING (table_name)
    UNION ALL
    SELECT d.table_name, 'drift', coalesce(max(b.findings), 0), d.findings, $min_drift
    FROM drift_counts AS d LEFT JOIN drift_counts AS b ON b.table_name = d.table_name AND b.first_run < d.first_run
    WHERE d.first_run = $run
    GROUP BY d.table_name, d.findings
)
SELECT table_name, kind, findings_before AS before, findings_now AS now
FROM findings, gap
WHERE findings_now - findings_before >= min_additional * days
  AND findings_now > findings_before * CAST($factor AS DOUBLE) * days
ORDER BY ALL
