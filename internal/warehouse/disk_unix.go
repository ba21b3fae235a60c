//go:build unix

package warehouse

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeBytes is the free space for an unprivileged user on the disk of path.
func freeBytes(path string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}

// fileID is the same for all names of a file.
type fileID struct{ device, inode uint64 }

// diskUse returns the disk space of a file. The system counts it in blocks of 512 bytes. shared
// reports whether the file has several names.
func diskUse(info fs.FileInfo) (id fileID, bytes int64, shared bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return id, info.Size(), false
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, int64(st.Blocks) * 512, st.Nlink > 1
}
