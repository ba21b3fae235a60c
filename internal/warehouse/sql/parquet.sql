-- The fingerprint of a row is an unsigned number of 64 bits in the catalog. Parquet has
-- the signed one with the same bits: Iceberg and many readers know no other.

-- name: signed_hash
CASE WHEN row_hash <= 9223372036854775807 THEN row_hash::BIGINT ELSE ~(~row_hash)::BIGINT END

-- name: stored_hash
-- The way back. It leaves the unsigned numbers of files that earlier programs wrote.
CASE WHEN row_hash >= 0 THEN row_hash::UBIGINT ELSE ~(~row_hash)::UBIGINT END
