package houserules_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pageLink      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInAnchor   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeSpan      = regexp.MustCompile("`[^`]*`")
	namedPath     = regexp.MustCompile("`((?:internal|cmd|docs|schema|queries|deploy)/[\\w./-]*\\w)`")
	namedTest     = regexp.MustCompile("`(Test\\w+)(?:/\\w+)?`")
	linkInHeading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// checkLinks checks that the target of each link exists, and has the heading that the link names
// after #. Each path and each test in backquotes must exist too.
func checkLinks(t tree) []finding {
	tests := testNames(t)
	anchors := map[string]map[string]bool{}
	for _, file := range t.textFiles {
		if path.Ext(file.path) == ".md" {
			anchors[file.path] = headingAnchors(file.content)
		}
	}
	var findings []finding
	for _, file := range t.textFiles {
		if path.Ext(file.path) != ".md" || strings.HasSuffix(file.path, ".tmpl.md") {
			continue // the links of a template are relative to the folder of the generated page
		}
		number, inCode := 0, false
		for line := range strings.Lines(file.content) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inCode = !inCode
			}
			if inCode {
				continue
			}
			for _, named := range namedPath.FindAllStringSubmatch(line, -1) {
				if !t.has(named[1]) {
					findings = append(findings, finding{file.path, number, named[1] + " is not in the repository", "correct the path"})
				}
			}
			for _, named := range namedTest.FindAllStringSubmatch(line, -1) {
				if !tests[named[1]] {
					findings = append(findings, finding{file.path, number, "there is no test " + named[1], "name an existing test"})
				}
			}
			for _, link := range pageLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				if fault := linkFault(t, anchors, file.path, link[1]); fault != "" {
					findings = append(findings, finding{file.path, number, fault, "correct the link"})
				}
			}
		}
	}
	return findings
}

// testNames returns the test functions of all packages.
func testNames(t tree) map[string]bool {
	names := map[string]bool{}
	for _, s := range t.sources {
		for _, decl := range s.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && s.isTest() {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

// linkFault describes the fault of a link, or returns "" if the link is correct or external.
func linkFault(t tree, anchors map[string]map[string]bool, from, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return ""
	}
	target, anchor, _ := strings.Cut(link, "#")
	to := from
	if target != "" {
		to = path.Join(path.Dir(from), target)
	}
	switch {
	case !t.has(to):
		return link + " leads to no file"
	case anchor != "" && anchors[to] != nil && !anchors[to][anchor]:
		return link + " leads to no heading"
	}
	return ""
}

func (t tree) has(name string) bool {
	return slices.ContainsFunc(t.paths, func(other string) bool { return other == name || strings.HasPrefix(other, name+"/") })
}

// headingAnchors returns the anchors of the headings of a page.
func headingAnchors(page string) map[string]bool {
	anchors := map[string]bool{}
	inCode := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if title := strings.TrimLeft(line, "#"); title != line && !inCode {
			title = linkInHeading.ReplaceAllString(strings.TrimSpace(title), "$1")
			anchors[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = true
		}
	}
	return anchors
}

func TestDeadLinksAreFound(t *testing.T) {
	testRule(t, checkLinks, []ruleCase{
		{"links", map[string]string{
			"README.md":   "[a](docs/a.md) [b](docs/a.md#one-two-c) [c](#here) [d](docs) [e](https://example.com/x.md)\n## Here\n`[f](nowhere)`\n```\n[g](nowhere)\n```\n[h](docs/b.md)\n[i](docs/a.md#three)\n[j](#there)\n`docs/a.md` `docs/*.md` `docs/c.md`\n`TestA` `TestA/one` `TestB`",
			"a/a_test.go": "package a\nfunc TestA() {}",
			"docs/a.md":   "## One, two: `c`\n[up](../README.md#here)",
		}, []string{
			"README.md:10: docs/c.md is not in the repository",
			"README.md:11: there is no test TestB",
			"README.md:7: docs/b.md leads to no file",
			"README.md:8: docs/a.md#three leads to no heading",
			"README.md:9: #there leads to no heading",
		}},
	})
}
