package warehouse

import (
	_ "embed"

	"placementsync/internal/sqltext"
)

var (
	//go:embed sql/instance.sql
	instanceSQL sqltext.File // sets a DuckDB up
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File // makes and reads the tables of a catalog
	//go:embed sql/verify.sql
	verifySQL sqltext.File // compares a version with its manifest
)
