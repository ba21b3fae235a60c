// Package bench compares the whole program with DuckDB alone and with other programs, and
// writes docs/performance.md. Reading order: settings_test.go defines the options,
// goals_test.go the goals, and sections_test.go the sections; a section returns figures,
// and report_test.go renders the figures of all sections.
//
// The service, the baseline, the night and the peers are child processes, so that the
// system accounts their time and memory separately. The package contains only tests. They
// measure only if the environment requests it.
package bench
