// Package queries holds the named queries as SQL, one file a query, with a
// header that says what it answers and which parameters it takes. The folder checks holds the
// checks of a night, the folder engines the queries that other engines answer over a lake,
// and the views of mart below mart.
//
// It must not know who runs them: it imports nothing of this project.
package queries

import "embed"

// FS holds <name>.sql for every named query.
//
//go:embed *.sql
var FS embed.FS

// Checks holds checks/<name>.sql for every check. A check returns the rows that violate it;
// its header also states a severity, hold or warn.
//
//go:embed checks/*.sql
var Checks embed.FS

// Engines holds engines/<name>.sql for named queries and engines/mart/<view>.sql for every
// view of mart. A file is one SELECT, as a text/template: the parts that engines write
// differently are functions of internal/dialect. Its tables are named ${current}.<table>,
// ${past}.<table>, ${meta}.<table> and ${mart}.<view>, for the namespaces of a lake. The
// parameters of a query are the columns of a common table expression params at its top, one
// a line, with their defaults.
//
//go:embed engines
var Engines embed.FS
