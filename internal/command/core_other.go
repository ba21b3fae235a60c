//go:build !unix

package command

// forbidCoreDumps does nothing: this system writes no core dumps.
func forbidCoreDumps() {}
