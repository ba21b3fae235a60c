-- The rows of a large list are inserted into main without staging tables, if its tables in main are
-- empty. Until the merge these tables have the column seq, which shows the latest copy of a record.

-- name: begin_direct
ALTER TABLE {table} ADD COLUMN seq UBIGINT;
DROP TABLE {staged}

-- name: direct_view
-- Shows the rows of the table under the name of the staging table.
CREATE OR REPLACE VIEW {staged} AS SELECT {columns}, row_hash, {seq} FROM {table}

-- name: insert_direct
INSERT INTO {table} BY NAME SELECT *, {now} AS valid_from FROM {view}

-- name: end_direct
ALTER TABLE {table} DROP COLUMN seq
