// Package queries contains the named queries, one SQL file per query, with a header that describes
// the result and the parameters. The folder "checks" contains the checks of a night. The folder
// "engines" contains the views of mart for the engines of a lake.
//
// No value that a column can hold may make a query, a check or a view of mart fail: the rules are in
// docs/guide/own-queries.md, below "Large values".
//
// The package imports no package of this project.
package queries

import "embed"

// FS contains <name>.sql for each named query.
//
//go:embed *.sql
var FS embed.FS

// Checks contains checks/<name>.sql for each check. A check returns the rows that violate it. Its
// header also has a severity, hold or warn.
//
//go:embed checks/*.sql
var Checks embed.FS

// Engines contains engines/mart/<view>.sql for each view of mart. A file is a text/template of one
// SELECT. Functions of package dialect generate the parts that differ between engines. Tables are
// named ${current}.<table>, ${past}.<table>, ${meta}.<table> and ${mart}.<view>; namespaces of a
// lake replace these placeholders.
//
//go:embed engines
var Engines embed.FS
