//go:build !unix

package durable

import "io/fs"

// Owner returns no owner: files have no numeric owner on this system.
func Owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }
