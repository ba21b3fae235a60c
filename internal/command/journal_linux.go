package command

import (
	"os"
	"syscall"
)

// identifyFile returns the device and the inode of an open file.
func identifyFile(f *os.File) (device, inode uint64, ok bool) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(stat.Dev), stat.Ino, true
}
