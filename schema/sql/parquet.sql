-- row_hash is UBIGINT in the catalog. In Parquet it is the BIGINT with the same bits, because
-- Iceberg and many readers have no unsigned types.

-- name: signed_hash
CASE WHEN row_hash <= 9223372036854775807 THEN row_hash::BIGINT ELSE ~(~row_hash)::BIGINT END

-- name: unsigned_hash
-- The reverse of signed_hash. Files of earlier releases contain unsigned values. These are returned
-- unchanged.
CASE WHEN row_hash >= 0 THEN row_hash::UBIGINT ELSE ~(~row_hash)::UBIGINT END
