-- Each table of main becomes a Parquet file.
--
-- The file of changes of a version contains the rows that the version added to or removed from meta, and
-- the rows that it added to past. All values are text.

-- name: memory_limit
SELECT parse_formatted_bytes(current_setting('memory_limit'))

-- name: write_table
-- A row group ends when it has 122,880 rows, DuckDB's default, or {max_bytes} bytes in memory.
COPY (SELECT {columns}, valid_from, {row_hash} AS row_hash FROM {table}) TO {file} (FORMAT parquet, COMPRESSION zstd,
    COMPRESSION_LEVEL {level}, ROW_GROUP_SIZE_BYTES {max_bytes}, FIELD_IDS {ids}, KV_METADATA { {labels} })

-- name: columns_before
SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE schema_name IN ('meta', 'past') AND database_name = 'before'

-- name: changed_rows
-- The difference of old and new rows. A row can occur several times, and several copies can be added or removed.
-- EXCEPT ALL would take five times as long. meta_ marks the columns of the file itself, because the file also has
-- the columns of all tables.
SELECT {name} AS meta_table, meta_count < 0 AS meta_gone, {texts} FROM (
    SELECT *, unnest(range(abs(meta_count))) AS meta_copy FROM (
        SELECT {columns}, sum(meta_side)::BIGINT AS meta_count FROM ({rows}) GROUP BY ALL)
    WHERE meta_count <> 0)

-- name: counted_rows
-- side is 1 for the new rows of a table and -1 for the old rows. The sum of it, meta_count, is the number of copies
-- that were added, or the negative number of copies that were removed.
SELECT {columns}, {side} AS meta_side FROM {table}

-- name: value_as_text
{column}::VARCHAR AS {column}

-- name: missing_column
NULL AS {column}

-- name: count_past
SELECT {name}, count(*) FROM {past} WHERE {condition}

-- name: closed_by_run
run_id = {run}

-- name: past_rows
-- The values are in a map, because all tables of past together have a thousand columns. meta_table and meta_gone
-- are the columns of changed_rows. In a row of past, meta_gone is always false.
SELECT {name} AS meta_table, FALSE AS meta_gone, map([{names}], [{values}]) AS past_row FROM {past} WHERE {condition}

-- name: write_meta_file
-- Row groups are small, because a row has about 200 columns, and a row group is in memory until it is
-- written.
COPY ({rows}) TO {file} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10240)
