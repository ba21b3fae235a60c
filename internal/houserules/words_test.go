package houserules_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// emptyNames refuses folders and files whose name could be that of any other.
func emptyNames(t tree) []finding {
	empty := []string{"util", "utils", "common", "helper", "helpers", "types", "pkg", "misc"}
	var found []finding
	for _, s := range t.sources {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
		for _, part := range append(strings.Split(s.dir(), "/"), name) {
			if slices.Contains(empty, part) {
				found = append(found, finding{s.path, 1, "nothing is said by the name " + part,
					"name it after what it is about, or move the code to where it is used"})
			}
		}
	}
	return found
}

// word is a text that must not be left in the project.
type word struct {
	begins  []string // one of these, in lower case, is in every text that has it
	pattern *regexp.Regexp
	what    string
	do      string
}

// unwanted lists the words. They are put together here so as not to find themselves.
// A named placeholder is a part of an SQL statement, and no unfinished work.
func unwanted() []word {
	const finish = "finish it, or leave it out"
	return []word{
		{[]string{"to" + "do", "fix" + "me", "xx" + "x"}, regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "unfinished work", finish},
		{[]string{"for" + " now"}, regexp.MustCompile(`(?i)\bfor` + ` now\b`), "unfinished work", finish},
		{[]string{"stu" + "b"}, regexp.MustCompile(`(?i)\bstu` + `bs?\b`), "unfinished work", finish},
	}
}

func words(t tree) []finding {
	var found []finding
	for _, file := range t.texts {
		lower := strings.ToLower(file.content)
		for _, w := range unwanted() {
			if slices.ContainsFunc(w.begins, func(begin string) bool { return strings.Contains(lower, begin) }) {
				found = append(found, w.findings(file)...)
			}
		}
	}
	return found
}

func (w word) findings(file text) []finding {
	var found []finding
	number := 0
	for line := range strings.Lines(file.content) {
		number++
		if match := w.pattern.FindString(line); match != "" {
			found = append(found, finding{file.path, number, w.what + ` ("` + match + `")`, w.do})
		}
	}
	return found
}

func TestEmptyNamesAreFound(t *testing.T) {
	mustCatch(t, emptyNames, []breach{
		{"folder and file", map[string]string{
			"internal/util/a.go":          "package util",
			"internal/fetch/types.go":     "package fetch",
			"internal/fetch/misc_test.go": "package fetch",
			"internal/fetch/subtypes.go":  "package fetch",
		}, []string{
			"internal/fetch/misc_test.go:1: nothing is said by the name misc",
			"internal/fetch/types.go:1: nothing is said by the name types",
			"internal/util/a.go:1: nothing is said by the name util",
		}},
	})
}

func TestUnwantedWordsAreFound(t *testing.T) {
	mustCatch(t, words, []breach{
		{"in every kind of file", map[string]string{
			"a/a.go":            "package a\n// TO" + "DO: more",
			"schema/a.sql":      "-- good\n-- good for" + " now\n",
			"README.md":         "\n\na Stu" + "b\n",
			"a/testdata/c.sql":  "-- XX" + "X",
			"docs/unharmful.md": "stubborn, XXXL, for nowhere, a placeholder\n",
		}, []string{
			`README.md:3: unfinished work ("Stu` + `b")`,
			`a/a.go:2: unfinished work ("TO` + `DO")`,
			`a/testdata/c.sql:1: unfinished work ("XX` + `X")`,
			`schema/a.sql:2: unfinished work ("for` + ` now")`,
		}},
	})
}
