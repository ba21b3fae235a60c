// Package houserules tests that the files of this project follow rules that no compiler or linter
// checks, for example the allowed imports of each package, the length of functions and the targets
// of links. A failure shows file, line, violation and remedy. Each rule is also tested with
// invented files that violate it.
//
// The package has only tests and must not be imported.
package houserules
