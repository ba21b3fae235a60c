-- Statements that compare a draft with its manifest before it is published.

-- name: measure_table
-- The number of rows of a table of the draft, and the range of its first key column.
SELECT {index}, count(*), coalesce(min({key}), ''), coalesce(max({key}), '') FROM main.{table};

-- name: count_rows
-- The number of rows of a table, and the number of different keys.
SELECT {index}, count(*), (SELECT count(*) FROM (SELECT DISTINCT {key} FROM version.main.{table})) FROM version.main.{table};

-- name: count_parquet_rows
-- One query reads all files, because a query for each file takes ten times as long.
SELECT file_name, num_rows FROM parquet_file_metadata([{files}]);
