-- Settings of DuckDB, and statements that attach, measure and copy catalogs.

-- name: settings
SET GLOBAL temp_directory = {spill};
-- The order of rows has no meaning. If DuckDB had to preserve the order, it would write partial row
-- groups twice and keep more than one row group of a Parquet file in memory.
SET GLOBAL preserve_insertion_order = false;
SET GLOBAL autoinstall_known_extensions = false;
-- Publishing a version makes a checkpoint of the catalog. Other databases need no checkpoint, because
-- they are discarded.
PRAGMA disable_checkpoint_on_shutdown;
-- Versions of DuckDB before 1.5 cannot read reused metadata ("Failed to load metadata pointer"),
-- with any storage version of the file.
SET GLOBAL experimental_metadata_reuse = false;
-- DuckDB returns freed memory to the system immediately. The peak of a night with 1,000,000 listings is
-- 780 MiB with this setting and up to 1,130 MiB without it. The night takes the same time.
SET GLOBAL allocator_background_threads = true;
SET GLOBAL allocator_flush_threshold = '16MB';

-- name: memory_limit
SET GLOBAL memory_limit = {limit};

-- name: reduced_memory_limit
-- While rows are loaded or counted, the limit is three quarters of the configured limit, but at
-- least 256 MB if that much is configured. DuckDB would use the last quarter only to cache blocks of
-- the disk, and responses and batches need memory outside DuckDB. The peak of a night with 1,000,000
-- listings is 768 MiB with a limit of 512 MB, and 640 MiB with three quarters of this limit.
SET GLOBAL memory_limit = greatest(parse_formatted_bytes({limit}) * 3 // 4, least(parse_formatted_bytes({limit}), 256000000))::BIGINT || 'B';

-- name: threads
SET GLOBAL threads = {threads};

-- name: attach_draft
-- Only ATTACH can choose the storage version. DuckDB 1.1 and later can open the file. In the format
-- of DuckDB 1.0, the statistics would take 3 KB for each of 1,500 columns. A draft needs no
-- write-ahead log, because it is discarded if its run ends early.
ATTACH IF NOT EXISTS {catalog} AS catalog (STORAGE_VERSION {storage}, RECOVERY_MODE NO_WAL_WRITES);
USE catalog;

-- name: measure_catalog
-- The size of blocks, and the estimated number of rows of all tables.
SELECT (SELECT block_size FROM pragma_database_size() WHERE database_name = 'catalog'),
    coalesce(sum(estimated_size), 0)::BIGINT
FROM duckdb_tables() WHERE database_name = 'catalog';

-- name: copy_catalog
-- Copies the catalog into a new file with the given size of blocks. COPY FROM DATABASE also copies
-- comments, views and macros.
ATTACH {file} AS moved (STORAGE_VERSION {storage}, BLOCK_SIZE {size}, RECOVERY_MODE NO_WAL_WRITES);
COPY FROM DATABASE catalog TO moved;
CHECKPOINT moved;

-- name: attach_version
-- The catalog of a published version or of a finished draft, read only.
ATTACH {catalog} AS version (READ_ONLY);
