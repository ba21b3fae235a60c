package query

import (
	"errors"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// IsUnreadable reports whether a query failed in a way that a damaged file explains,
// and a mistake in the query does not.
func IsUnreadable(err error) bool {
	var de *duckdb.Error
	if !errors.As(err, &de) {
		return false
	}
	switch de.Type {
	case duckdb.ErrorTypeIO, duckdb.ErrorTypeInternal, duckdb.ErrorTypeFatal, duckdb.ErrorTypeSerialization, duckdb.ErrorTypeInvalid:
		return true
	}
	return false
}

// IsMissing reports whether a query failed because the catalog lacks a table,
// a view or a column that it reads, as one that an earlier program wrote may.
func IsMissing(err error) bool {
	var de *duckdb.Error
	return errors.As(err, &de) && (de.Type == duckdb.ErrorTypeCatalog || de.Type == duckdb.ErrorTypeBinder)
}
