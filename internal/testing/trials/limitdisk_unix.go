//go:build unix

package trials

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitDisk limits the size of the files that this process writes, as the job requires. A write
// beyond the limit fails as on a full disk. restore removes the limit.
func (j Job) limitDisk() (restore func() error, err error) {
	var original unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &original); err != nil {
		return nil, err
	}
	restore = func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &original) }
	if j.MaxFileBytes == 0 {
		return restore, nil
	}
	signal.Ignore(syscall.SIGXFSZ) // otherwise the first failing write ends the process
	return restore, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(j.MaxFileBytes), Max: original.Max})
}
