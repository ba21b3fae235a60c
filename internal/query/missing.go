package query

import (
	"errors"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// IsMissing reports whether a query failed because the catalog lacks a table,
// a view or a column that it reads, as one that an earlier program wrote may.
func IsMissing(err error) bool {
	var de *duckdb.Error
	return errors.As(err, &de) && (de.Type == duckdb.ErrorTypeCatalog || de.Type == duckdb.ErrorTypeBinder)
}
