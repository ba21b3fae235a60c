-- How a DuckDB of this program is set up. Time zones are set per connection, in Go.

-- name: settings
SET GLOBAL temp_directory = {spill};
-- No table or file promises an order. To preserve one makes DuckDB rewrite partial row
-- groups, and hold more of a Parquet file in memory than a row group.
SET GLOBAL preserve_insertion_order = false;
SET GLOBAL autoinstall_known_extensions = false;
-- Publish checkpoints the catalog. Everything else is thrown away, and a checkpoint of it
-- would be wasted work.
PRAGMA disable_checkpoint_on_shutdown;
-- A DuckDB before 1.5 cannot read reused metadata ("Failed to load metadata pointer"),
-- whatever the storage version is.
SET GLOBAL experimental_metadata_reuse = false;
-- Freed memory returns to the system at once: the peak of a night of 1,000,000 listings is
-- 780 MiB with this and up to 1,130 without, in the same time.
SET GLOBAL allocator_background_threads = true;
SET GLOBAL allocator_flush_threshold = '16MB';

-- name: memory_limit
SET GLOBAL memory_limit = {limit};

-- name: part_of_memory
-- While rows are loaded or counted, more memory only holds blocks longer that are on the disk already,
-- and the answers and batches of the night need theirs beside it: a night of 1,000,000
-- listings has its peak then, 768 MiB with all of 512 MB and 640 with three quarters.
SET GLOBAL memory_limit = greatest(parse_formatted_bytes({limit}) * 3 // 4, least(parse_formatted_bytes({limit}), 256000000))::BIGINT || 'B';

-- name: threads
SET GLOBAL threads = {threads};

-- name: attach_draft
-- Only ATTACH can choose how a file is written: so that every DuckDB since 1.1 opens it.
-- For one since 1.0, statistics alone take 3 KB for each of 1,500 columns. A draft needs
-- no log, because a run that ends early discards it.
ATTACH IF NOT EXISTS {catalog} AS catalog (STORAGE_VERSION {storage}, RECOVERY_MODE NO_WAL_WRITES);
USE catalog;

-- name: measure_catalog
-- The size of its blocks, and about how many rows the draft has in all schemas.
SELECT (SELECT block_size FROM pragma_database_size() WHERE database_name = 'catalog'),
    coalesce(sum(estimated_size), 0)::BIGINT
FROM duckdb_tables() WHERE database_name = 'catalog';

-- name: move_catalog
-- With comments, views and macros.
ATTACH {file} AS moved (STORAGE_VERSION {storage}, BLOCK_SIZE {size}, RECOVERY_MODE NO_WAL_WRITES);
COPY FROM DATABASE catalog TO moved;
CHECKPOINT moved;

-- name: attach_sealed
-- A published version, read only.
ATTACH {catalog} AS sealed (READ_ONLY);
