//go:build unix

package query

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitFileSize limits the size of each file that this process writes, in bytes. Zero means no limit.
func limitFileSize(bytes int64) error {
	if bytes == 0 {
		return nil
	}
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit then returns EFBIG
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)})
}
