// Package queries holds the named queries as SQL, one file a query, with a
// header that says what it answers and which parameters it takes. The folders spark and
// trino hold those that other engines answer over a lake, and the views of mart below
// mart, in the SQL of the engine.
//
// It must not know who runs them: it imports nothing of this project.
package queries

import "embed"

// FS holds <name>.sql for every named query.
//
//go:embed *.sql
var FS embed.FS

// Engines holds <engine>/<name>.sql for named queries and <engine>/mart/<view>.sql for
// every view of mart. A file is one SELECT. Its tables are named ${current}.<table>,
// ${past}.<table>, ${meta}.<table> and ${mart}.<view>, where whoever installs it fills
// in the namespaces of the lake. The parameters of a query are the columns of a common
// table expression params at its top, one a line, with their defaults.
//
//go:embed spark trino
var Engines embed.FS
