package houserules_test

import (
	"slices"
	"strings"
	"testing"
)

// rule is one rule and its check.
type rule struct {
	name  string
	check func(tree) []finding
}

func rules() []rule {
	return []rule{
		{"a package imports what its row allows", checkOurImports},
		{"every allowed import is used", findUnusedImports},
		{"a dependency is imported where it belongs", checkForeignImports},
		{"functions and files have a limited size", checkSizes},
		{"a package has no hidden state", findHiddenState},
		{"values enter SQL through one function", checkQuoting},
		{"only commands access the process", findForbiddenNames},
		{"tests do not sleep", findSleeps},
		{"make trials runs every trial", findHiddenTrials},
		{"citations refer to existing sections", checkCitations},
		{"links refer to existing files and headings", checkLinks},
	}
}

func TestHouseRules(t *testing.T) {
	project := projectTree(t)
	if len(project.sources) == 0 {
		t.Fatal("no source found: the tests must run in their own folder")
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.check(project) {
				t.Error(f)
			}
		})
	}
}

// ruleCase has invented files and the expected findings of a rule.
type ruleCase struct {
	name  string
	files map[string]string
	want  []string // findings as "path:line: text", or prefixes of them
}

// testRule tests that a check finds violations and accepts correct files.
func testRule(t *testing.T, check func(tree) []finding, breaches []ruleCase) {
	t.Helper()
	for _, b := range breaches {
		t.Run(b.name, func(t *testing.T) {
			var got []string
			for _, f := range check(parseTree(t, b.files)) {
				got = append(got, f.String())
			}
			slices.Sort(got)
			if len(got) != len(b.want) {
				t.Fatalf("got %d findings, want %d:\n%s", len(got), len(b.want), strings.Join(got, "\n"))
			}
			for i, want := range b.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got  %s\nwant %s: ...", got[i], want)
				}
			}
		})
	}
}
