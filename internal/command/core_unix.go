//go:build unix

package command

import "golang.org/x/sys/unix"

// forbidCoreDumps also applies to child processes. If the call fails, the limits of the
// system remain.
func forbidCoreDumps() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
