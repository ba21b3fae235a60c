-- A list that brings many rows fills its empty tables of main directly. Until the merge
-- they have the column seq, which tells copies of a record apart.

-- name: adopt_table
ALTER TABLE {table} ADD COLUMN seq UBIGINT;
DROP TABLE {staged}

-- name: adopted_view
-- The rest of the stage reads an adopted table as if it were staged.
CREATE OR REPLACE VIEW {staged} AS SELECT {columns}, row_hash, {seq} FROM {table}

-- name: release_table
ALTER TABLE {table} DROP COLUMN seq
