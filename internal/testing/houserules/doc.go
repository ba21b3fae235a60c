// Package houserules checks the rules of this code base that no compiler or linter knows, as
// tests over its syntax trees: the imports of each package, the length of functions, access to
// the process, links and citations. A failure gives file, line, rule and remedy. Each rule is
// also tested with a breach.
//
// The package has only tests and must not be imported.
package houserules
