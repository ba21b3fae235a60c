-- subject: quality
-- severity: warn
-- title: Unusual number of rows
-- grain: one row per table
-- about: Tables with fewer or more rows than on any of their last 30 nights. The difference must exceed the range of these nights plus a tenth of the nearer end. At least seven nights are needed. Also tables that lost more than the allowed share of their rows since the previous snapshot; the number of rows before is shown as the range. Reason: a list that loses a few records every night, and a short list that loses many, never reach the limit for deletions of one night (`run.mass_delete_share` and `run.mass_delete_rows`). Not detected: records that are exchanged for others, and slow growth or loss.
-- param: nights COUNT 30 -- nights to compare with
-- param: min_nights COUNT 7 -- leave out tables with fewer nights
-- param: min_rows COUNT 50 -- leave out differences of fewer rows
-- param: gone DECIMAL 0.2 -- allowed share of the rows that are gone since the previous snapshot
-- param: min_table COUNT 10 -- leave out tables that had fewer rows in the previous snapshot
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH nights AS (
    SELECT run_id
    FROM meta.runs
    WHERE snapshot_at < $snapshot AND coalesce(kind, 'night') = 'night'
    QUALIFY row_number() OVER (ORDER BY snapshot_at DESC) <= $nights
),
ranges AS (
    SELECT table_name, count(*) AS nights, min(rows) AS least, max(rows) AS most
    FROM meta.tables SEMI JOIN nights USING (run_id)
    GROUP BY table_name
),
tonight AS (
    SELECT table_name, t.rows, t.rows_gone, TRY_CAST(CAST(t.rows AS HUGEINT) - t.rows_new + t.rows_gone AS BIGINT) AS rows_before
    FROM meta.tables AS t JOIN meta.runs USING (run_id)
    WHERE snapshot_at = $snapshot
)
SELECT table_name, t.rows, least, most, ranges.nights
FROM tonight AS t JOIN ranges USING (table_name)
WHERE ranges.nights >= $min_nights
  AND (least - t.rows > greatest($min_rows, most - least + least / 10)
    OR t.rows - most > greatest($min_rows, most - least + most / 10))
UNION ALL
-- Tables that lost too many rows since the previous snapshot, whose number of rows is the range.
SELECT table_name, t.rows, rows_before, rows_before, 1
FROM tonight AS t
WHERE rows_before >= $min_table AND t.rows_gone > rows_before * CAST($gone AS DOUBLE)
ORDER BY ALL
