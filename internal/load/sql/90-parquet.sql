-- Tables of main become Parquet files, sorted by key.

-- name: settings
SELECT current_setting('threads'), parse_formatted_bytes(current_setting('memory_limit'))

-- name: row_width
-- What a row takes in memory, by a sample of some ten vectors, the same one each time;
-- when chance leaves none of them, that of a table with many texts.
SELECT {index}, coalesce(avg({texts}), {unknown})::BIGINT + {cells} FROM {table} TABLESAMPLE system({percent} PERCENT) REPEATABLE (1)

-- name: text_width
coalesce(strlen({column}::VARCHAR), 0)

-- name: sorted_rows
SELECT {columns}, valid_from, row_hash FROM {table} WHERE {range} ORDER BY {key}

-- name: write_file
COPY ({rows}) TO {file} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL {level}, ROW_GROUP_SIZE {group}, KV_METADATA {labels})

-- name: sample_keys
-- Keys that divide a table into ranges of about as many rows.
SELECT k FROM (SELECT {key} AS k FROM {table}) USING SAMPLE reservoir({rows} ROWS) REPEATABLE (1) ORDER BY k

-- name: key_range
{first} AND {key} < {end}

-- name: key_from
{key} >= {first}

-- name: read_files
SELECT * FROM read_parquet([{files}])

-- name: keep_order
SET GLOBAL preserve_insertion_order = {keep}
