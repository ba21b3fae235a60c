//go:build race

package harness

// Race reports whether the tests run with the race detector.
const Race = true
