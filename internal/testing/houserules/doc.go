// Package houserules tests that the files of this project follow rules that no compiler or linter
// checks, for example the allowed imports of each package, the length of functions and the targets
// of links. A failure shows file, line, violation and remedy. Most rules are also tested with
// invented files that violate them.
//
// The package has only tests and must not be imported.
package houserules
