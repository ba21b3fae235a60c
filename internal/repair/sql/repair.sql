-- SQL that reads and counts the rows of versions and Parquet files, to compare them.

-- name: sum_rows
-- The number of rows of a table or file, and a checksum that does not depend on the order of the rows.
SELECT count(*)::VARCHAR, coalesce(sum(hash({columns})::HUGEINT), 0)::VARCHAR FROM {source};

-- name: parquet_file
read_parquet({file}, hive_partitioning = false)

-- name: count_table
SELECT {name}, count(*) FROM {table};

-- name: count_runs
SELECT count(DISTINCT run_id), count(DISTINCT snapshot_at::DATE), max(snapshot_at) FROM {runs};
