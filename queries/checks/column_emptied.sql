-- subject: quality
-- severity: hold
-- title: A column lost its values
-- grain: one row per column
-- about: A column that had values in at least half of the rows is now empty or nearly empty. Or all its values are now the same, and more than the allowed share of the earlier values differed from this value. If there were fewer than "min_rows" earlier values, all of them must have differed, and the table must still have "min_small" rows of the previous snapshot. Reason: the service may leave out a field or fill it with a constant. Flags (true or false) may all have the same value. Unknown fields (the column extra) may disappear, for example because a new version of the program reads them into a column. Only tables in which at least a tenth of the rows changed are compared. Not detected: a column that loses its values over several nights, and a column that loses only a part of its values (see nulls_rose).
-- each: table
-- param: filled DECIMAL 0.05 -- a column with values in less than this share of the rows is nearly empty
-- param: share DECIMAL 0.3 -- allowed share of earlier values that differ from the only present value
-- param: min_rows COUNT 50 -- a column with fewer values before must lose all of them to have one single value
-- param: min_small COUNT 5 -- leave out tables with fewer rows, and columns with fewer values before
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; set by the program
WITH suspect_columns AS (
    -- COLUMNS repeats an expression for each column, and "\1" keeps the name of the column. content is
    -- 'empty', or an equals sign with the only value of the column.
    SELECT column_name, content
    FROM (UNPIVOT (
        SELECT CASE WHEN count(COLUMNS('(.*)')) < count(*) * CAST($filled AS DECIMAL(9, 3)) THEN 'empty'
            WHEN min(COLUMNS('(.*)')) = max(COLUMNS('(.*)')) AND typeof(min(COLUMNS('(.*)'))) <> 'BOOLEAN' THEN '=' || CAST(min(COLUMNS('(.*)')) AS VARCHAR) END AS "\1"
        FROM (SELECT * EXCLUDE (valid_from, row_hash) FROM {table}) HAVING count(*) >= $min_small) ON COLUMNS(*) INTO NAME column_name VALUE content)
    JOIN (UNPIVOT (
        SELECT CASE WHEN count(COLUMNS('(.*)')) >= greatest($min_small, count(*) / 2) THEN min(COLUMNS('(.*)')) < max(COLUMNS('(.*)')) END AS "\1"
        FROM (SELECT * EXCLUDE (valid_from, row_hash) FROM before.{table})) ON COLUMNS(*) INTO NAME column_name VALUE had_several_values) USING (column_name)
    WHERE (content = 'empty' OR had_several_values) AND column_name <> 'extra'
      AND NOT contains($private, ',' || {name} || '.' || column_name || ',')
),
-- The earlier values of the columns that now have one single value. They are read only if there are such columns.
earlier_values AS (
    SELECT column_name, count(*) AS value_count, count_if('=' || value_before <> content) AS different_count
    FROM (UNPIVOT (
        SELECT CAST(COLUMNS('(.*)') AS VARCHAR) AS "\1"
        FROM (SELECT * EXCLUDE (valid_from, row_hash) FROM before.{table} WHERE (SELECT count(*) FROM suspect_columns WHERE content <> 'empty') > 0)) ON COLUMNS(*) INTO NAME column_name VALUE value_before)
    JOIN suspect_columns USING (column_name)
    WHERE content <> 'empty'
    GROUP BY column_name
)
SELECT {name} AS table_name, column_name, 'is empty or nearly empty' AS problem FROM suspect_columns WHERE content = 'empty'
UNION ALL
SELECT {name}, column_name, 'has one single value'
FROM earlier_values
WHERE different_count > value_count * CAST($share AS DECIMAL(9, 3))
  AND (value_count >= $min_rows
    OR (different_count = value_count
      AND (SELECT count(*) FROM {table} SEMI JOIN before.{table} USING ({key})) >= $min_small))
ORDER BY ALL
