package houserules_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// raceAndSlow matches the packages of the Makefile that "make test" tests with and without the race detector.
var raceAndSlow = regexp.MustCompile(`(?m)^RACE_AND_SLOW := \./cmd/sync \$\(addprefix \./internal/,([a-z ]+)\)$`)

// checkRace checks that each test with harness.Slow or harness.Concurrent runs in "make test". Each of the two skips
// its test in one of two runs.
func checkRace(t *testing.T, project tree) {
	match := raceAndSlow.FindStringSubmatch(readFile(t, "Makefile"))
	if match == nil {
		t.Fatalf("the Makefile has no line that matches %s", raceAndSlow)
	}
	packages := strings.Fields(match[1])
	for i, name := range packages {
		packages[i] = "internal/" + name
	}
	packages = append(packages, "cmd/sync")
	for name, text := range project.texts {
		isTest := strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "internal/testing/")
		if !isTest || slices.Contains(packages, path.Dir(name)) {
			continue
		}
		for _, call := range []string{"harness.Slow(", "harness.Concurrent("} {
			if strings.Contains(text, call) {
				t.Errorf("%s calls %s), but %s is not in RACE_AND_SLOW of the Makefile, so that its test would not run", name, call, path.Dir(name))
			}
		}
	}
}
