package warehouse

import _ "embed"

var (
	//go:embed sql/views.sql
	viewsSQL SQLFile // the views and macros of a catalog that are the same for every table
	//go:embed sql/instance.sql
	instanceSQL SQLFile // sets a DuckDB up
	//go:embed sql/catalog.sql
	catalogSQL SQLFile // makes and reads the tables of a catalog
	//go:embed sql/parquet.sql
	parquetSQL SQLFile // the form of values that a Parquet file cannot hold as the catalog does
	//go:embed sql/verify.sql
	verifySQL SQLFile // compares a version with its manifest
)
