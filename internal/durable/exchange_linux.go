package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchangeNames exchanges the names of two folders, atomically if the file system supports
// it, and otherwise with three renames.
func exchangeNames(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return exchangeWithRenames(a, b)
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
