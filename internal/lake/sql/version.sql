-- Statements that read a published version, which is attached as "sealed".

-- name: limits
-- A row group may take an eighth of the memory of a thread, as in the published files.
SELECT parse_formatted_bytes(current_setting('memory_limit')) // current_setting('threads')::BIGINT // 8

-- name: published_runs
SELECT run_id FROM sealed.meta.runs

-- name: measure_table
-- The checksums of all rows of a table and of the rows that the lake already has, the number of all
-- rows, and the number of rows that the lake lacks.
SELECT {index}, {all}, {old}, count(*), count(*) FILTER (WHERE NOT {published}) FROM sealed.{schema}.{table}

-- name: content_of_closed
-- A checksum of closed rows in any order. It reads only three narrow columns.
concat_ws(':', count(*) FILTER (WHERE {rows}), coalesce(sum(row_hash::HUGEINT) FILTER (WHERE {rows}), 0),
    coalesce(sum(epoch_us(valid_from)::HUGEINT) FILTER (WHERE {rows}), 0),
    coalesce(sum(epoch_us(valid_to)::HUGEINT) FILTER (WHERE {rows}), 0))

-- name: content_of_meta
concat_ws(':', count(*) FILTER (WHERE {rows}), coalesce(sum(hash({columns})::HUGEINT) FILTER (WHERE {rows}), 0))

-- name: closed_until
valid_to <= {at}

-- name: written_until
-- Sorted run ids are in the order of their times.
coalesce(run_id <= {run}, false)

-- name: copy_rows
COPY (SELECT {columns} FROM sealed.{schema}.{table} WHERE {rows}) TO {file} (FORMAT parquet, COMPRESSION zstd,
    COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880, ROW_GROUP_SIZE_BYTES {bytes}, FIELD_IDS {ids})

-- name: sum_values
-- A checksum of all values, with the rows in any order.
SELECT count(*), coalesce(sum(hash({names})::HUGEINT), 0)::VARCHAR FROM (SELECT {values} FROM {source})

-- name: files_by_id
read_parquet([{files}], hive_partitioning = false, schema = MAP {{fields}})
