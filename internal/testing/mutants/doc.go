// Package mutants measures how many small mistakes in a package its own tests notice. The tool
// gremlins plants one mistake at a time, a mutant, in a copy of the project, and runs the tests of
// the package. "make mutants" runs it and stores the results for docs/reliability.md.
//
// The package has only tests. They do not depend on what the measured packages do.
package mutants
