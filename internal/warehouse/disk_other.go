//go:build !unix

package warehouse

import "io/fs"

// freeBytes returns -1, because the free space is unknown on systems without statfs.
func freeBytes(string) (int64, error) { return -1, nil }

// fileID is empty, because the id of a file is unknown on these systems.
type fileID struct{}

// diskUse returns the size of a file. Whether the file has other hard links is unknown.
func diskUse(info fs.FileInfo) (id fileID, bytes int64, shared bool) { return id, info.Size(), false }
