// Package bench measures nights of the program and of other programs, and prints the results. A run of the program is
// called a night, because it usually runs once each night. The word run means one repetition of a measurement.
//
// The demo service, the program and the other programs are child processes, so that the system accounts their time
// and memory separately. A second program, for example an earlier state of this one, can be measured in turn with the
// first, against the same service. The package contains only tests. They measure only the sections that an
// environment variable lists, and fail only if something cannot be measured.
//
// Reading order: bench_test.go contains the settings and the sections, report_test.go the printed
// figures, night_test.go a night of a program.
package bench
