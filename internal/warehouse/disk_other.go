//go:build !unix

package warehouse

// freeBytes is unknown where the system has no statfs.
func freeBytes(string) (int64, error) { return -1, nil }
