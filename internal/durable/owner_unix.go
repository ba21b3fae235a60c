//go:build unix

package durable

import (
	"io/fs"
	"syscall"
)

// Owner returns whose a file is, by number; ok is false where the system does not say.
func Owner(info fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}
