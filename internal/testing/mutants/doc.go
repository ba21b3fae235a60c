// Package mutants measures how many small mistakes the tests of a package notice. The tool gremlins
// copies the project, adds one mistake to the package and runs the tests of the package. Such a
// mistake is called a mutant. A mutant with which all tests pass is called a survivor. "make mutants"
// repeats this for many mutants and stores the results for docs/reliability.md.
//
// The package contains only tests. They do not import the measured packages.
package mutants
