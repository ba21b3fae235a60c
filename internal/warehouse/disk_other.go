//go:build !unix

package warehouse

import "io/fs"

// freeBytes is unknown where the system has no statfs.
func freeBytes(string) (int64, error) { return -1, nil }

// fileID is unknown there, too.
type fileID struct{}

// diskUse is the size of a file, whose other names are not known.
func diskUse(info fs.FileInfo) (id fileID, bytes int64, shared bool) { return id, info.Size(), false }
