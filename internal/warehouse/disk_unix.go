//go:build unix

package warehouse

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeBytes returns the space that an unprivileged user can still use on the disk of path.
func freeBytes(path string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}

// fileID identifies a file. All hard links to a file have the same fileID.
type fileID struct{ device, inode uint64 }

// diskUse returns the id and the disk space of a file. shared reports whether the file has other hard
// links. The system counts disk space in blocks of 512 bytes.
func diskUse(info fs.FileInfo) (id fileID, bytes int64, shared bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return id, info.Size(), false
	}
	return fileID{uint64(stat.Dev), uint64(stat.Ino)}, int64(stat.Blocks) * 512, stat.Nlink > 1
}
