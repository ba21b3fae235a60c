// Package trials runs whole nights of the pipeline against the demo service, into real
// warehouses, and compares the results with the data of the service. Read harness_test.go,
// the fixture, first, and then values_test.go, the simplest trial. child_test.go runs
// nights in child processes, which crash_test.go and other files kill.
//
// It contains only tests. The tests named TestTrial... take more than a few seconds and run only if
// PLACEMENTSYNC_TRIALS is set, as in make trials. The tests named TestTorture... run only in make
// torture.
package trials
