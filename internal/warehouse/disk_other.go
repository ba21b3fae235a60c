//go:build !unix

package warehouse

import "io/fs"

// freeBytes is unknown where the system has no statfs.
func freeBytes(string) (int64, error) { return -1, nil }

// fileID is unknown on these systems.
type fileID struct{}

// diskUse returns the size of a file. Other names of the file are unknown.
func diskUse(info fs.FileInfo) (id fileID, bytes int64, shared bool) { return id, info.Size(), false }
