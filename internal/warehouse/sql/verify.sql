-- Row counts of a draft. measure_table computes them for the manifest, and count_rows counts the rows again
-- before the draft is published.

-- name: measure_table
-- The number of rows of a table of the draft, and the range of its first key column.
SELECT {index}, count(*), coalesce(min({key}), ''), coalesce(max({key}), '') FROM main.{table};

-- name: count_rows
-- For a table of the closed draft: the number of rows, of distinct hashes of keys, and of rows in the Parquet
-- file. Hashes take a fraction of the memory of keys.
SELECT {index}, count(*), (SELECT count(*) FROM (SELECT DISTINCT hash({key}) FROM version.main.{table})),
    (SELECT num_rows FROM parquet_file_metadata({file}))
FROM version.main.{table};

-- name: count_keys
-- The number of distinct keys, counted exactly. It is used if count_rows finds fewer hashes than rows, because two keys
-- can have one hash.
SELECT count(*) FROM (SELECT DISTINCT {key} FROM version.main.{table});
