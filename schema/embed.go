// Package schema contains the tables and views of the warehouse, one SQL file each, and reads them. These files are
// the only definition of columns, types and meanings. The files in the top folder are the tables of the schema main.
// The tables of meta/ describe the runs. The views of mart/ are for analysis. sql/ has SQL that depends only on these
// definitions.
//
// The package must not know where tables are stored, or who fills and reads them. It opens no database.
package schema

import "embed"

// FS contains <table>.sql for each table of main and meta/<table>.sql for each table of meta, in the
// form that stream.ParseDefinition parses. Each column has its permanent field id and, if it refers
// to another table, the referenced column. The program adds the columns of stream.SystemColumns to the
// tables of main. mart/<view>.sql is a CREATE VIEW that qualifies all tables with their schema. After it,
// each line is a COMMENT ON statement: for the view, and then for each column in their order. The SQL
// comment at the end of a line is the type of the column.
//
//go:embed *.sql meta/*.sql mart/*.sql
var FS embed.FS
