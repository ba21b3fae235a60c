//go:build unix

package durable

import (
	"io/fs"
	"syscall"
)

// Owner returns the numeric owner and group of a file.
func Owner(info fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}
