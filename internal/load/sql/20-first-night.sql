-- A large list fills its empty tables of main directly. Until the merge the tables have the
-- column seq, by which the latest copy of a record is found.

-- name: begin_direct
ALTER TABLE {table} ADD COLUMN seq UBIGINT;
DROP TABLE {staged}

-- name: direct_view
-- The rows of the table, under the name of the staging table.
CREATE OR REPLACE VIEW {staged} AS SELECT {columns}, row_hash, {seq} FROM {table}

-- name: end_direct
ALTER TABLE {table} DROP COLUMN seq
