-- What a published version is compared with its manifest by, before readers see it.

-- name: measure_table
-- The rows of a table of the draft, and the range of its first key column.
SELECT {index}, count(*), coalesce(min({key}), ''), coalesce(max({key}), '') FROM main.{table};

-- name: count_rows
-- Hashes of keys take a fraction of the memory of keys. Where two are the same,
-- count_keys compares the keys themselves.
SELECT {index}, count(*), count(DISTINCT hash({key})) FROM sealed.main.{table};

-- name: count_parquet_rows
-- All files in one call: to bind a scan of each takes ten times as long.
SELECT file_name, num_rows FROM parquet_file_metadata([{files}]);

-- name: count_keys
SELECT count(*) FROM (SELECT DISTINCT {key} FROM sealed.main.{table});
