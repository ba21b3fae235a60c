-- subject: quality
-- severity: hold
-- title: Many times moved by the same interval
-- grain: one row per column and interval
-- about: Too many times of a column moved by the same interval since the previous snapshot: at least "min_rows" and more than "share" of the times, or at least "min_small" and more than "share_small" of all compared times. Moved times that were all equal are left out. Reason: the times may be in another time zone, or have another precision. Times after the snapshot are not compared, because plans are postponed. Not detected: wrong times of new rows, and intervals that differ from row to row.
-- each: column TIMESTAMPTZ
-- param: share DECIMAL 0.3 -- allowed share of the times
-- param: min_rows COUNT 50 -- intervals of fewer times have the limits "share_small" and "min_small"
-- param: share_small DECIMAL 0.8 -- allowed share of all compared times
-- param: min_small COUNT 5 -- leave out intervals of fewer times
-- param: snapshot TIMESTAMPTZ NULL -- time of the snapshot; set by the program
WITH changes AS (
    SELECT p.{column} AS time_before, CAST(epoch_us(n.{column}) AS HUGEINT) - epoch_us(p.{column}) AS shift
    FROM {table} AS n JOIN past.{table} AS p USING ({key})
    WHERE n.valid_from = $snapshot AND p.valid_to = $snapshot AND p.{column} <= $snapshot AND isfinite(p.{column}) AND isfinite(n.{column})
),
unchanged AS (SELECT count(*) AS times FROM {table} WHERE valid_from < $snapshot AND {column} <= $snapshot),
shifts AS (
    SELECT
        shift,
        count(*)                                                                 AS rows_changed,
        min(time_before) < max(time_before)                                      AS has_different_times,
        (SELECT count(*) FROM before.{table} WHERE {column} <= $snapshot)        AS rows_before,
        (SELECT count(*) + any_value(unchanged.times) FROM changes, unchanged)   AS rows_compared
    FROM changes
    WHERE shift <> 0
    GROUP BY shift
)
SELECT {name} AS table_name, {column_name} AS column_name, round(CAST(shift AS DOUBLE) / 3600e6, 4) AS hours, rows_changed, rows_before
FROM shifts
WHERE has_different_times
  AND ((rows_changed >= $min_rows AND rows_changed > rows_before * CAST($share AS DOUBLE))
    OR (rows_changed >= $min_small AND rows_changed > rows_compared * CAST($share_small AS DOUBLE)))
ORDER BY ALL
