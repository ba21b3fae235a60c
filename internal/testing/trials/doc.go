// Package trials runs whole nights of the pipeline against the demo service, into
// real warehouses, and compares what they leave with what the service holds. Reading
// order: house_test.go is the fixture, values_test.go the plainest trial; child_test.go
// runs nights in processes of their own, which crash_test.go and others kill.
//
// It has no code but tests, and must not be imported. What takes more than a few
// seconds runs when PLACEMENTSYNC_TRIALS is set, as make test does; TestTrial... are
// the longest of these, and TestTorture... run when make torture asks for them.
package trials
