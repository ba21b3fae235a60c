-- Statements that read a published version, which is attached as "version". checksum_of_closed,
-- checksum_of_meta, closed_until, written_until and scan_by_field_ids are parts of statements.

-- name: max_group_bytes
-- The largest size of a row group in bytes: an eighth of the memory of a thread, as in the published
-- files.
SELECT parse_formatted_bytes(current_setting('memory_limit')) // current_setting('threads')::BIGINT // 8

-- name: published_runs
SELECT run_id FROM version.meta.runs

-- name: measure_table
-- Checksums of all rows of a table and of the rows that the lake already has, the number of all rows,
-- and the number of rows that the lake lacks. {in_lake} is the condition for rows that the lake has.
SELECT {index}, {checksum}, {in_lake_checksum}, count(*), count(*) FILTER (WHERE NOT {in_lake}) FROM version.{schema}.{table}

-- name: checksum_of_closed
-- A checksum of the closed rows that {rows} selects. It does not depend on the order of the rows. It
-- reads only three narrow columns, because row_hash is a hash of the other values.
concat_ws(':', count(*) FILTER (WHERE {rows}), coalesce(sum(row_hash::HUGEINT) FILTER (WHERE {rows}), 0),
    coalesce(sum(epoch_us(valid_from)::HUGEINT) FILTER (WHERE {rows}), 0),
    coalesce(sum(epoch_us(valid_to)::HUGEINT) FILTER (WHERE {rows}), 0))

-- name: checksum_of_meta
-- A checksum of the rows of a table of the schema meta that {rows} selects. It reads all columns.
concat_ws(':', count(*) FILTER (WHERE {rows}), coalesce(sum(hash({columns})::HUGEINT) FILTER (WHERE {rows}), 0))

-- name: closed_until
valid_to <= {at}

-- name: written_until
-- Sorted run ids are in the order of their times.
coalesce(run_id <= {run}, false)

-- name: copy_rows
COPY (SELECT {columns} FROM version.{schema}.{table} WHERE {rows}) TO {file} (FORMAT parquet, COMPRESSION zstd,
    COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880, ROW_GROUP_SIZE_BYTES {bytes}, FIELD_IDS {ids})

-- name: sum_values
-- The number of rows and a checksum of all values. The order of the rows does not change the checksum.
SELECT count(*), coalesce(sum(hash({names})::HUGEINT), 0)::VARCHAR FROM (SELECT {values} FROM {source})

-- name: scan_by_field_ids
-- A scan of Parquet files that finds columns by their field ids.
read_parquet([{files}], hive_partitioning = false, schema = MAP {{fields}})
