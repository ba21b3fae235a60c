-- What a version changed in the tables of meta, as a file: the rows that it added and
-- those that it removed, all values as text.

-- name: attach_base
ATTACH {file} AS before (READ_ONLY)

-- name: detach_base
DETACH before

-- name: meta_columns
SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'meta' AND database_name = 'before'

-- name: changed_rows
-- Rows are counted, those of before against those of now: EXCEPT ALL takes five times as
-- long.
SELECT {name} AS meta_table, meta_count < 0 AS meta_gone, {texts} FROM (
    SELECT *, unnest(range(abs(meta_count))) AS meta_copy FROM (
        SELECT {columns}, sum(meta_side)::BIGINT AS meta_count FROM ({rows}) GROUP BY ALL)
    WHERE meta_count <> 0)

-- name: rows_now
SELECT {columns}, 1 AS meta_side FROM {table}

-- name: rows_before
SELECT {columns}, -1 FROM {table}

-- name: value_as_text
{column}::VARCHAR AS {column}

-- name: missing_column
NULL AS {column}

-- name: write_meta_file
COPY ({rows}) TO {file} (FORMAT parquet, COMPRESSION zstd)
