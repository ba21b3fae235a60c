// Package enginetest asks Spark, Trino and other readers of a lake the same as DuckDB,
// and compares every value. Reading order: cases_test.go makes what is asked, from the
// tests of the named queries, the demo and a large warehouse; equip_test.go has the
// engines installed, in the versions of engines/*.txt; a script under engines/ asks one
// engine, and compare.py compares.
//
// It has no code but tests, which run only when PLACEMENTSYNC_ENGINES names a folder for
// the engines, as "make lake-test" does, and must not be imported.
package enginetest
