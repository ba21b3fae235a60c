//go:build !unix

package command

// forbidCoreDumps has nothing to do where no core is dumped.
func forbidCoreDumps() {}
