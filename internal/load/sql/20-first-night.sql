-- If the tables of a large list are empty in main, its rows are inserted into main without staging
-- tables. Until the merge, these tables of main have the column seq. Of several copies of a record, the
-- latest has the highest seq.

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
