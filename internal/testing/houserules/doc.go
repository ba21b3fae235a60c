// Package houserules tests that the files of this project follow rules that no compiler or linter
// knows: the imports of each package, the length of functions, access to the process, links and
// citations. A failure gives file, line, violation and remedy. Each rule is also tested with
// invented files that violate it.
//
// The package has only tests and must not be imported.
package houserules
