//go:build !unix

package command

// forbidCoreDumps does nothing: this system writes no core dumps.
func forbidCoreDumps() {}

// LimitMemory does nothing on this system.
func LimitMemory(uint64) {}
