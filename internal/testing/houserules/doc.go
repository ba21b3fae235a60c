// Package houserules tests what no compiler or linter checks: the allowed imports of each package, the
// agreement of a stream's literal with its tables and the demo service, quotes in SQL, citations and
// links, generated pages, and which tests "make test" runs with the race detector. A failure shows file, line, violation and remedy.
//
// The package has only tests and must not be imported.
package houserules
