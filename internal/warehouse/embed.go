package warehouse

import _ "embed"

// viewsSQL makes the views and macros of a catalog that are the same for every table.
//
//go:embed sql/views.sql
var viewsSQL SQLFile

// instanceSQL sets a DuckDB up.
//
//go:embed sql/instance.sql
var instanceSQL SQLFile

// catalogSQL makes and reads the tables of a catalog.
//
//go:embed sql/catalog.sql
var catalogSQL SQLFile

// verifySQL compares a version with its manifest.
//
//go:embed sql/verify.sql
var verifySQL SQLFile
