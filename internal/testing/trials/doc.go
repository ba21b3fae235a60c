// Package trials runs whole nights of the pipeline against the demo service, into real
// warehouses, and compares the results with the data of the service. Read house_test.go,
// the fixture, first, and then values_test.go, the simplest trial. child_test.go runs
// nights in processes of their own, which crash_test.go and others kill.
//
// It contains only tests. Those that take more than a few seconds run if
// PLACEMENTSYNC_TRIALS is set, as in make test. The longest of these are named
// TestTrial...; TestTorture... run only in make torture.
package trials
