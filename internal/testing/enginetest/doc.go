// Package enginetest computes the views of mart in DuckDB, Spark and Trino, and reads lakes with these and other
// engines. It compares every value. Reading order: cases_test.go selects the views. They read the fixtures of views
// and named queries, the demo, and a large DuckDB file. equip_test.go installs the engines in the versions of
// engines/*.txt. The scripts in engines/ query the engines, and compare.py compares the results.
//
// The package contains only tests. They run if the environment variable PLACEMENTSYNC_ENGINES is
// the path of a folder for the engines. "make lake-test" sets the variable. The tests of compare.py
// also run without the variable, if python3 has duckdb and pyarrow.
package enginetest
