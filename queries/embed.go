// Package queries holds the named queries as SQL, one file a query, with a
// header that says what it answers and which parameters it takes.
//
// It must not know who runs them: it imports nothing of this project.
package queries

import "embed"

// FS holds <name>.sql for every named query.
//
//go:embed *.sql
var FS embed.FS
