package warehouse

import (
	_ "embed"

	"placementsync/internal/sqltext"
)

var (
	//go:embed sql/instance.sql
	instanceSQL sqltext.File // settings of DuckDB, and statements for catalogs
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File // tables of a catalog
	//go:embed sql/verify.sql
	verifySQL sqltext.File // row counts of a draft
)
