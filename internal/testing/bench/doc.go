// Package bench compares the whole program with DuckDB alone and with other programs, and writes
// docs/performance.md. A run of the program is called a night, because it usually runs once each
// night. The word run means one repetition of a measurement. Reading order: settings_test.go defines
// the options, mainfigures_test.go the main figures, and sections_test.go the sections. A section
// returns findings, and page_test.go renders the findings of all sections.
//
// The demo service, DuckDB alone, the program and the other programs are child processes, so that
// the system accounts their time and memory separately. The package contains only tests. They
// measure only the sections that an environment variable lists.
package bench
