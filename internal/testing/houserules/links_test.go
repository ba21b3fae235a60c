package houserules_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	pageLink      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInAnchor   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeSpan      = regexp.MustCompile("`[^`]*`")
	namedPath     = regexp.MustCompile("`((?:internal|cmd|lake|docs|schema|queries|deploy)/[\\w./-]*\\w)`")
	namedTest     = regexp.MustCompile("`(Test\\w+)(?:/\\w+)?`")
	declaredTest  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	linkInHeading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// checkLinks checks that the target of each link exists, and has the heading that the link names after #. Each
// path and each test in backquotes must exist too.
func checkLinks(t *testing.T, project tree) {
	tests, anchors := map[string]bool{}, map[string]map[string]bool{}
	for file, content := range project.texts {
		if path.Ext(file) == ".md" {
			anchors[file] = headingAnchors(content)
		}
		if strings.HasSuffix(file, "_test.go") {
			for _, declared := range declaredTest.FindAllStringSubmatch(content, -1) {
				tests[declared[1]] = true
			}
		}
	}
	checked := 0
	for file, content := range project.texts {
		if path.Ext(file) != ".md" {
			continue
		}
		for i, line := range textLines(content) {
			for _, named := range namedPath.FindAllStringSubmatch(line, -1) {
				if !project.has(named[1]) {
					t.Errorf("%s:%d: %s is not in the repository: correct the path", file, i+1, named[1])
				}
			}
			for _, named := range namedTest.FindAllStringSubmatch(line, -1) {
				if !tests[named[1]] {
					t.Errorf("%s:%d: there is no test %s: name an existing test", file, i+1, named[1])
				}
			}
			for _, link := range pageLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				checked++
				if strings.Contains(link[1], "://") || strings.HasPrefix(link[1], "mailto:") {
					continue
				}
				target, anchor, _ := strings.Cut(link[1], "#")
				to := file
				if target != "" {
					to = path.Join(path.Dir(file), target)
				}
				if !project.has(to) || anchor != "" && anchors[to] != nil && !anchors[to][anchor] {
					t.Errorf("%s:%d: %s leads to no file or heading: correct the link", file, i+1, link[1])
				}
			}
		}
	}
	if checked < 100 || len(tests) < 100 {
		t.Errorf("found %d links and %d tests, want at least 100", checked, len(tests))
	}
}

// textLines returns the lines of a page. Lines of code blocks are empty.
func textLines(page string) []string {
	lines, inCode := strings.Split(page, "\n"), false
	for i, line := range lines {
		isFence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if isFence || inCode {
			lines[i] = ""
		}
		if isFence {
			inCode = !inCode
		}
	}
	return lines
}

// headingAnchors returns the anchors of the headings of a page.
func headingAnchors(page string) map[string]bool {
	anchors := map[string]bool{}
	for _, line := range textLines(page) {
		title := strings.TrimLeft(line, "#")
		if title == line {
			continue
		}
		title = linkInHeading.ReplaceAllString(strings.TrimSpace(title), "$1")
		anchors[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = true
	}
	return anchors
}
