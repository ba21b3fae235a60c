// Package trials tests complete nights: runs of the pipeline that read the demo service and publish
// a real warehouse. It compares the warehouse with the data of the service. Reading order:
// harness_test.go is the fixture, and values_test.go the simplest trial. child_test.go runs nights
// in child processes, which crash_test.go and other files kill.
//
// The package contains only tests. With -short, as in "make trials-short", some trials are skipped, and others try
// fewer cases.
// The tests named TestTorture... run only in "make torture".
package trials
