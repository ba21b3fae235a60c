-- Statements that compare a draft with its manifest before it is published.

-- name: measure_table
-- The number of rows of a table of the draft, and the range of its first key column.
SELECT {index}, count(*), coalesce(min({key}), ''), coalesce(max({key}), '') FROM main.{table};

-- name: count_rows
-- The number of rows of a table, the number of different keys, and the number of rows in the Parquet file.
SELECT {index}, count(*), (SELECT count(*) FROM (SELECT DISTINCT {key} FROM version.main.{table})),
    (SELECT num_rows FROM parquet_file_metadata({file}))
FROM version.main.{table};
