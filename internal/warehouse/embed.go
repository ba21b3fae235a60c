package warehouse

import (
	_ "embed"

	"placementsync/internal/sqltext"
)

var (
	//go:embed sql/views.sql
	viewsSQL sqltext.File // the views and macros of a catalog that are the same for every table
	//go:embed sql/instance.sql
	instanceSQL sqltext.File // sets a DuckDB up
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File // makes and reads the tables of a catalog
	//go:embed sql/parquet.sql
	parquetSQL sqltext.File // the form of values that a Parquet file cannot hold as the catalog does
	//go:embed sql/verify.sql
	verifySQL sqltext.File // compares a version with its manifest
)
