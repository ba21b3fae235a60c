package houserules_test

import (
	"slices"
	"strings"
	"testing"
)

// rule is a rule of this project and the function that finds its violations.
type rule struct {
	name  string
	check func(tree) []finding
}

func rules() []rule {
	return []rule{
		{"a package imports only packages that the import table allows", checkProjectImports},
		{"the import table allows only used imports, of packages in rows above", checkImportTable},
		{"a dependency is imported only by allowed packages", checkDependencies},
		{"functions and files have a limited size", checkSizes},
		{"a package has no hidden state", findHiddenState},
		{"SQL is quoted only by package sqltext", checkQuoting},
		{"forbidden names of packages are not used", findForbiddenNames},
		{"tests do not sleep", findSleeps},
		{"the targets of trials run every trial", findHiddenTrials},
		{"citations refer to existing sections", checkCitations},
		{"links refer to existing files and headings", checkLinks},
	}
}

func TestHouseRules(t *testing.T) {
	project := projectTree(t)
	if len(project.sources) == 0 {
		t.Fatal("found no Go file of the project: run the tests in their own folder")
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.check(project) {
				t.Error(f)
			}
		})
	}
}

// ruleCase contains invented files and the findings that a rule must return for them.
type ruleCase struct {
	name  string
	files map[string]string // content by path
	want  []string          // sorted prefixes of finding.String
}

// testRule tests that a check finds violations and accepts correct files.
func testRule(t *testing.T, check func(tree) []finding, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range check(parseTree(t, c.files)) {
				got = append(got, f.String())
			}
			slices.Sort(got)
			if len(got) != len(c.want) {
				t.Fatalf("got %d findings, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got  %s\nwant a finding that begins with\n     %s", got[i], want)
				}
			}
		})
	}
}
