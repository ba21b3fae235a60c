// Package enginetest runs the same queries in Spark, Trino and other readers of a lake and in
// DuckDB, and compares every value. Reading order: cases_test.go defines the queries, which run on
// the data of the tests of named queries, of the demo and of a large warehouse. equip_test.go
// installs the engines in the versions of engines/*.txt. Each script in engines/ queries one
// engine, and compare.py compares the results.
//
// It contains only tests. They run if PLACEMENTSYNC_ENGINES names a folder for the engines,
// as in "make lake-test".
package enginetest
