// Package schema holds the tables of the warehouse as SQL, one file a table:
// the only statement of their columns, types and meanings. The files directly
// here are the tables of main, those under meta describe the nights, those under
// mart are views for analysis.
//
// It must not know who reads the files: it imports nothing of this project.
package schema

import "embed"

// FS holds <table>.sql for every table of main and meta/<table>.sql for every
// table of meta, in the form that stream.ParseDefinition reads: each column with
// the id that it has in files for ever and, if it names records of another table, the
// column that it references. The columns that make history (valid_from,
// run_id, row_hash) are added by the warehouse, see stream.SystemColumns.
// mart/<view>.sql is a CREATE VIEW with its comments, one a line and in the
// order of its columns, each with the type behind it; it names every table with its
// schema.
//
//go:embed *.sql meta/*.sql mart/*.sql
var FS embed.FS
