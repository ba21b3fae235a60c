//go:build unix

package command

import "golang.org/x/sys/unix"

// forbidCoreDumps also holds for the programs that this one starts. Where the system
// refuses, its own limits hold.
func forbidCoreDumps() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
