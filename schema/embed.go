// Package schema contains the tables of the warehouse, one SQL file per table. These files are the
// only definition of columns, types and meanings. The files in the top folder are the tables of
// main, meta describes the nights, and mart contains views for analysis.
//
// It must not know its users: it imports no package of this project.
package schema

import "embed"

// FS contains <table>.sql for each table of main and meta/<table>.sql for each table of meta, in the
// form that stream.ParseDefinition parses. Each column has its permanent field id and, if it refers
// to another table, the referenced column. The warehouse adds the columns of the history
// (valid_from, run_id, row_hash), see stream.SystemColumns. mart/<view>.sql is a CREATE VIEW with
// comments, one per line in the order of the columns, each followed by the type. It qualifies all
// tables with their schema.
//
//go:embed *.sql meta/*.sql mart/*.sql
var FS embed.FS
