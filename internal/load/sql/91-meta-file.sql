-- A file with the changes of a version in the tables of meta and past: the rows that it
-- added and removed, all values as text.

-- name: columns_before
SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE schema_name IN ('meta', 'past') AND database_name = 'before'

-- name: changed_rows
-- The difference of old and new rows. A row can be added or removed several times. EXCEPT ALL would
-- take five times as long.
SELECT {name} AS meta_table, meta_count < 0 AS meta_gone, {texts} FROM (
    SELECT *, unnest(range(abs(meta_count))) AS meta_copy FROM (
        SELECT {columns}, sum(meta_side)::BIGINT AS meta_count FROM ({rows}) GROUP BY ALL)
    WHERE meta_count <> 0)

-- name: counted_rows
-- side is 1 for the new rows of a table and -1 for the old rows.
SELECT {columns}, {side} AS meta_side FROM {table}

-- name: value_as_text
{column}::VARCHAR AS {column}

-- name: missing_column
NULL AS {column}

-- name: count_past
SELECT {name}, count(*) FROM {past} WHERE {which}

-- name: closed_by_run
run_id = {run}

-- name: past_rows
-- The values are in a map, because the tables have a thousand columns together.
SELECT {name} AS meta_table, FALSE AS meta_gone, map([{names}], [{values}]) AS past_row FROM {past} WHERE {which}

-- name: text
{column}::VARCHAR

-- name: write_meta_file
-- Row groups are small, because a row has about 200 columns and a group is kept in memory.
COPY ({rows}) TO {file} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10240)
