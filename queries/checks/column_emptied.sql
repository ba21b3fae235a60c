-- subject: quality
-- severity: hold
-- title: A column lost its values
-- grain: one row per column
-- about: A column that had values in at least half of the rows is now empty or has only one distinct value. A column that had fewer than three distinct values, by DuckDB's estimate, may have only one, so flags are left out. Only tables with at least a tenth of changed rows are compared. Not found: a column that loses its values over several nights.
-- each: table
-- param: min_rows COUNT 50 -- leave out tables with fewer rows, and columns with fewer values before
-- param: private VARCHAR ',' -- private columns as table.column, each between commas; the audit sets it
SELECT {name} AS table_name, column_name, CASE WHEN n.state = 0 THEN 'is empty' ELSE 'has one single value' END AS problem
FROM (UNPIVOT (
    SELECT CASE WHEN count(*) < $min_rows THEN 9 WHEN count(COLUMNS('(.*)')) = 0 THEN 0 WHEN min(COLUMNS('(.*)')) = max(COLUMNS('(.*)')) THEN 1 ELSE 9 END AS "\1"
    FROM (SELECT * EXCLUDE (valid_from, row_hash) FROM {table})) ON COLUMNS(*) INTO NAME column_name VALUE state) AS n
JOIN (UNPIVOT (
    SELECT CASE WHEN count(COLUMNS('(.*)')) < greatest($min_rows, count(*) / 2) THEN 0 WHEN approx_count_distinct(COLUMNS('(.*)')) < 3 THEN 1 ELSE 2 END AS "\1"
    FROM (SELECT * EXCLUDE (valid_from, row_hash) FROM before.{table})) ON COLUMNS(*) INTO NAME column_name VALUE state) AS b USING (column_name)
WHERE n.state < b.state AND NOT contains($private, ',' || {name} || '.' || column_name || ',')
ORDER BY ALL
