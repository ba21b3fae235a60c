package houserules_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const changelogFile = "CHANGELOG.md"

// kindsOfChange are the headings of Keep a Changelog, in its order.
func kindsOfChange() []string {
	return []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
}

// changeSection is what changed in a release, or since.
type changeSection struct {
	line    int
	version string // empty: Unreleased
	date    string
}

var releaseHeading = regexp.MustCompile(`^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$`)

// readChangelog returns the sections of a changelog, and what in it is not of the form of
// Keep a Changelog.
func readChangelog(content string) (sections []changeSection, found []finding) {
	complain := func(line int, what, do string) {
		found = append(found, finding{changelogFile, line, what, do})
	}
	kinds := kindsOfChange()
	kind, at := -1, 0 // the last heading of a kind, and its line; 0: none is open
	endKind := func(lines int) {
		if at > 0 && lines == 0 {
			complain(at, "nothing stands below "+kinds[kind], "leave the heading out")
		}
	}
	lines := 0 // of text below the last heading
	for i, line := range strings.Split(content, "\n") {
		number := i + 1
		heading, text, isHeading := strings.Cut(line, " ")
		switch {
		case number == 1 && line != "# Changelog":
			complain(number, "it does not begin with its title", "begin it with # Changelog")
		case isHeading && heading == "##":
			endKind(lines)
			kind, at, lines = -1, 0, 0
			s := changeSection{line: number}
			if m := releaseHeading.FindStringSubmatch(line); m != nil {
				s.version, s.date = m[1], m[2]
			} else if text != "Unreleased" {
				complain(number, fmt.Sprintf("the heading %q is none", line), "write ## Unreleased, or ## 1.2.3 - 2026-11-22")
			}
			sections = append(sections, s)
		case isHeading && heading == "###":
			endKind(lines)
			next := slices.Index(kinds, text)
			if len(sections) == 0 || next <= kind {
				complain(number, text+" is no kind of change, or not in its place", "use "+strings.Join(kinds, ", ")+", in this order, each once")
			}
			kind, at, lines = max(next, kind, 0), number, 0
		case strings.TrimSpace(line) != "":
			lines++
			if len(sections) > 0 && at == 0 {
				complain(number, "a change is of no kind", "put it below one of "+strings.Join(kinds, ", "))
			}
		}
	}
	endKind(lines)
	return sections, append(found, checkOrder(sections)...)
}

// checkOrder holds that Unreleased stands on top, and releases fall in version and date.
func checkOrder(sections []changeSection) (found []finding) {
	for i, s := range sections {
		wrong := func(what string) {
			found = append(found, finding{changelogFile, s.line, what, "the newest stands on top"})
		}
		if s.version == "" && i > 0 {
			wrong("Unreleased is not on top")
		}
		if _, err := time.Parse(time.DateOnly, s.date); s.version != "" && err != nil {
			wrong(s.date + " is no date")
		}
		if i == 0 || s.version == "" || sections[i-1].version == "" {
			continue
		}
		before := sections[i-1]
		if compareVersions(s.version, before.version) >= 0 {
			wrong(s.version + " stands below " + before.version)
		}
		if s.date > before.date {
			wrong(s.version + " is younger than " + before.version)
		}
	}
	return found
}

func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}

// TestChangelog holds the form of the changelog, and that each release has the fixture by
// which later programs show that they read what it wrote.
func TestChangelog(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", changelogFile))
	if err != nil {
		t.Fatal(err)
	}
	sections, found := readChangelog(string(content))
	for _, f := range found {
		t.Error(f)
	}
	for _, s := range sections {
		file := "cmd/sync/testdata/releases/" + s.version + ".tar.zst"
		if _, err := os.Stat(filepath.Join("..", "..", file)); s.version != "" && err != nil {
			t.Errorf("%s:%d: release %s has no %s: run make fixture, and commit what it writes", changelogFile, s.line, s.version, file)
		}
	}
	tags, at, err := readTags(t)
	if err != nil || len(tags) == 0 {
		t.Skipf("tags are not compared: this clone has none (%v)", err)
	}
	for _, tag := range tags {
		if !slices.ContainsFunc(sections, func(s changeSection) bool { return "v"+s.version == tag }) {
			t.Errorf("%s:1: the tag %s has no section", changelogFile, tag)
		}
	}
	if len(at) > 0 && (len(sections) == 0 || !slices.Contains(at, "v"+sections[0].version)) {
		t.Errorf("%s:1: the commit has the tag %s, and the newest section is not of it", changelogFile, strings.Join(at, ", "))
	}
}

// readTags lists the tags of releases in this clone, and those of this commit.
func readTags(t *testing.T) (all, here []string, err error) {
	t.Helper()
	list := func(args ...string) []string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"tag", "--list", "v[0-9]*"}, args...)...)
		cmd.Dir = filepath.Join("..", "..")
		out, listErr := cmd.Output()
		err = errors.Join(err, listErr)
		return strings.Fields(string(out))
	}
	all, here = list(), list("--points-at", "HEAD")
	return all, here, err
}

// TestChangelogBreachesAreFound holds each rule of readChangelog.
func TestChangelogBreachesAreFound(t *testing.T) {
	const good = "# Changelog\n\nWhat changed.\n\n## Unreleased\n\n### Added\n\n- A.\n\n### Security\n\n- B.\n\n" +
		"## 1.10.0 - 2026-12-01\n\n### Fixed\n\n- C.\n\n## 1.9.0 - 2026-12-01\n\n### Added\n\nReading\n\n- D.\n"
	for name, c := range map[string]struct{ from, to, want string }{
		"nothing":          {"", "", ""},
		"no title":         {"# Changelog", "# Changes", "CHANGELOG.md:1: it does not begin with its title"},
		"another heading":  {"## 1.9.0 - ", "## v1.9.0 - ", `CHANGELOG.md:21: the heading "## v1.9.0 - 2026-12-01" is none`},
		"no date":          {"2026-12-01\n\n### Added", "2026-02-30\n\n### Added", "CHANGELOG.md:21: 2026-02-30 is no date"},
		"order":            {"## 1.10.0 ", "## 1.8.0 ", "CHANGELOG.md:21: 1.9.0 stands below 1.8.0"},
		"dates":            {"1.9.0 - 2026-12-01", "1.9.0 - 2026-12-02", "CHANGELOG.md:21: 1.9.0 is younger than 1.10.0"},
		"unreleased below": {"## 1.9.0 - 2026-12-01", "## Unreleased", "CHANGELOG.md:21: Unreleased is not on top"},
		"another kind":     {"### Fixed", "### Mended", "CHANGELOG.md:17: Mended is no kind of change"},
		"order of kinds":   {"### Security", "### Added", "CHANGELOG.md:11: Added is no kind of change, or not in its place"},
		"an empty kind":    {"- C.\n", "", "CHANGELOG.md:17: nothing stands below Fixed"},
		"an empty end":     {"Reading\n\n- D.\n", "", "CHANGELOG.md:23: nothing stands below Added"},
		"no kind":          {"### Fixed\n\n", "", "CHANGELOG.md:17: a change is of no kind"},
	} {
		_, found := readChangelog(strings.Replace(good, c.from, c.to, 1))
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s: found %v", name, found)
		case c.want != "" && (len(found) == 0 || !strings.HasPrefix(found[0].String(), c.want)):
			t.Errorf("%s: found %v, want %s", name, found, c.want)
		}
	}
}
