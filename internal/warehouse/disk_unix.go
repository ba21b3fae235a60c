//go:build unix

package warehouse

import "golang.org/x/sys/unix"

// freeBytes is the room that an unprivileged user has on the disk of path.
func freeBytes(path string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
