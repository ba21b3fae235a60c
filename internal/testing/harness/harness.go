// Package harness contains what the tests of several packages share.
package harness

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests, which must leak no goroutine. A process whose first argument is childWord is a child
// process of a test: it calls child instead.
func Main(m *testing.M, childWord string, child func() error) {
	if len(os.Args) < 2 || os.Args[1] != childWord {
		goleak.VerifyTestMain(m)
		return
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// MainWithFolder creates a temporary folder, stores its path in dir, runs the tests, which must leak no goroutine, and
// removes the folder. The tests of a package share what they create in it.
func MainWithFolder(m *testing.M, pattern string, dir *string) {
	*dir = MustValue(os.MkdirTemp("", pattern))
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(*dir) // an error leaves only temporary files
		os.Exit(code)
	}))
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// MustValue returns v, and panics if err is not nil.
func MustValue[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Long skips a test that takes more than a few seconds, if the tests run with -short, as in "make test".
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes more than a few seconds: run it without -short, or with make trials")
	}
}

// Slow marks a test that is slow with the race detector and does not test concurrency. It skips the test if the race
// detector is on. "make test" also runs its package without the race detector.
func Slow(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("slow with the race detector: run it without -race")
	}
}

// Concurrent marks a test of concurrent code. If -short is set and the race detector is off, it skips the test:
// "make test" has already run it with the race detector.
func Concurrent(t testing.TB) {
	t.Helper()
	if testing.Short() && !Race {
		t.Skip("tests goroutines: run it with -race, or without -short")
	}
}
