-- What a version changed in the tables of meta, as a file: the rows that it added and
-- those that it removed, all values as text.

-- name: meta_columns
SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'meta' AND database_name = 'before'

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

-- name: write_meta_file
COPY ({rows}) TO {file} (FORMAT parquet, COMPRESSION zstd)
