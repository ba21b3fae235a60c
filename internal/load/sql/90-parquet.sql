-- Tables of main become Parquet files.

-- name: memory_limit
SELECT parse_formatted_bytes(current_setting('memory_limit'))

-- name: write_table
-- A row group ends when it has 122,880 rows, DuckDB's default, or {max_bytes} bytes in memory.
COPY (SELECT {columns}, valid_from, {row_hash} AS row_hash FROM {table}) TO {file} (FORMAT parquet, COMPRESSION zstd,
    COMPRESSION_LEVEL {level}, ROW_GROUP_SIZE_BYTES {max_bytes}, FIELD_IDS {ids}, KV_METADATA { {labels} })
