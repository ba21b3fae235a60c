-- The statement that writes a result as Parquet.

-- name: copy
COPY ({rows}) TO {path} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880, {option});
