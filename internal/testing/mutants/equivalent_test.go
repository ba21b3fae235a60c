package mutants_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/testing/torture"
)

// equivalentMutant is a mutant that no test can notice, because the program behaves the same with
// it. The text of the line identifies the mutant, because line numbers change.
type equivalentMutant struct {
	// File is the path below the project.
	File string `json:"file"`
	// Line is the text of the line, without the spaces around it.
	Line string `json:"line"`
	// Kind is the kind of the mutant, such as "conditionals boundary".
	Kind string `json:"kind"`
	// Reason is a sentence that says why the program behaves the same.
	Reason string `json:"reason"`
}

// readEquivalents reads equivalent.json. A survivor that no test can notice is added to that file.
func readEquivalents(t *testing.T) []equivalentMutant {
	t.Helper()
	var all []equivalentMutant
	decode(t, readFile(t, "equivalent.json"), &all)
	return all
}

// addReasons sets the reasons of the survivors that are in equivalents. It removes the reasons of the
// other survivors.
func addReasons(result *torture.MutationResult, equivalents []equivalentMutant) {
	for i := range result.Survivors {
		s := &result.Survivors[i]
		s.Reason = ""
		n := slices.IndexFunc(equivalents, func(e equivalentMutant) bool { return e.File == s.File && e.Line == s.Text && e.Kind == s.Kind })
		if n >= 0 {
			s.Reason = equivalents[n].Reason
		}
	}
}

// TestReasonsNameExistingLines checks that the line of each reason still exists.
func TestReasonsNameExistingLines(t *testing.T) {
	for _, e := range readEquivalents(t) {
		data, err := os.ReadFile(projectPath(e.File))
		exists := err == nil && slices.ContainsFunc(strings.Split(string(data), "\n"), func(line string) bool { return strings.TrimSpace(line) == e.Line })
		if !exists {
			t.Errorf("equivalent.json: %s does not contain the line %q (%v): remove or correct this mutant", e.File, e.Line, err)
		}
		if e.Kind == "" || e.Reason == "" {
			t.Errorf("equivalent.json: the mutant of the line %q of %s has no kind or no reason, want both", e.Line, e.File)
		}
	}
}

func TestReasonsBelongToLineAndKind(t *testing.T) {
	result := torture.MutationResult{Survivors: []torture.Survivor{
		{File: "a.go", Line: 1, Kind: "arithmetic base", Text: "x + 1"},
		{File: "a.go", Line: 1, Kind: "invert negatives", Text: "x + 1", Reason: "old"},
		{File: "b.go", Line: 1, Kind: "arithmetic base", Text: "x + 1"},
		{File: "a.go", Line: 2, Kind: "arithmetic base", Text: "x + 2"},
	}}
	addReasons(&result, []equivalentMutant{{File: "a.go", Line: "x + 1", Kind: "arithmetic base", Reason: "x is 0"}})
	for i, want := range []string{"x is 0", "", "", ""} {
		if got := result.Survivors[i].Reason; got != want {
			t.Errorf("survivor %d has the reason %q, want %q", i, got, want)
		}
	}
}
