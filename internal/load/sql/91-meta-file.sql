-- What a version changed in the tables of meta and past, as a file: the rows that it added
-- and those that it removed, all values as text.

-- name: columns_before
SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE schema_name IN ('meta', 'past') AND database_name = 'before'

-- name: changed_rows
-- Rows are counted, those of before against those of now: EXCEPT ALL takes five times as
-- long.
SELECT {name} AS meta_table, meta_count < 0 AS meta_gone, {texts} FROM (
    SELECT *, unnest(range(abs(meta_count))) AS meta_copy FROM (
        SELECT {columns}, sum(meta_side)::BIGINT AS meta_count FROM ({rows}) GROUP BY ALL)
    WHERE meta_count <> 0)

-- name: counted_rows
SELECT {columns}, {side} AS meta_side FROM {table}

-- name: value_as_text
{column}::VARCHAR AS {column}

-- name: missing_column
NULL AS {column}

-- name: count_past
SELECT {index}, count(*) FILTER ({which}), count(*), {earlier} FROM {past}

-- name: closed_by_run
run_id = {run}

-- name: count_rows
(SELECT count(*) FROM {table})

-- name: past_rows
-- A map has the columns of its own table alone: a row with those of all tables would be
-- a thousand columns wide.
SELECT {name} AS meta_table, FALSE AS meta_gone, map([{names}], [{values}]) AS past_row FROM {past} WHERE {which}

-- name: text
{column}::VARCHAR

-- name: write_meta_file
-- A row has about 200 columns, and its group is held in memory.
COPY ({rows}) TO {file} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10240)
