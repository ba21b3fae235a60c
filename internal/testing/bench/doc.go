// Package bench measures the whole program beside what DuckDB alone and other
// programs would take, and writes docs/performance.md. Reading order:
// settings_test.go says what can be chosen, goals_test.go what is to be reached,
// sections_test.go which sections there are; a section returns figures, and
// report_test.go renders those of all sections.
//
// Service, baseline, night and the peers are processes of their own, so that the
// system accounts their time and memory apart. It has no code but tests, which measure
// only when the environment asks for it, and must not be imported.
package bench
