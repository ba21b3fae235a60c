// Package trials contains what the tests of complete nights share: a demo service behind HTTP, the nights that read it
// into a real warehouse, and the values that the warehouse must then contain. Reading order: harness.go is the fixture,
// reference.go and tables.go compute the expected rows, and child.go runs nights in child processes.
//
// The tests are in the packages below. faults changes the responses of the service, damage kills runs and damages
// files, and season runs many nights of one warehouse.
// With -short, as in "make trials-short", some trials are skipped, and others try fewer cases. The tests named
// TestTorture... run only in "make torture".
package trials
