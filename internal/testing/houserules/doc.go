// Package houserules holds the rules of this code base that no compiler or linter
// knows, as tests over its syntax trees: which package may import which, how long a
// function may be, where the process may be touched, what a page may cite. Each
// failure names file, line, rule and remedy, and each rule is shown to catch a breach
// of it.
//
// It has no code but tests, and must not be imported.
package houserules
