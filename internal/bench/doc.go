// Package bench measures the whole program beside what DuckDB alone would take,
// and writes docs/performance.md. Reading order: settings_test.go says what can be
// chosen, sections_test.go which sections there are; a section returns figures,
// and report_test.go renders those of all sections.
//
// Service, baseline and night are processes of their own, so that the system
// accounts their time and memory apart. It has no code but tests, which measure
// only when the environment asks for it, and must not be imported.
package bench
