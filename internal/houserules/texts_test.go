package houserules_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bounds of the pages that newcomers read first.
const (
	readmeWords      = 1500
	longestLine      = 300 // characters of a line of the README
	longestPassage   = 600 // characters of a paragraph of the architecture
	readmePage       = "README.md"
	architecturePage = "docs/ARCHITECTURE.md"
)

// lengths bounds the README and the paragraphs of all pages that are written by hand.
func lengths(t tree) []finding {
	generated := []string{"docs/cli.md", "docs/tables.md", "docs/licenses.md"}
	var found []finding
	for _, file := range t.texts {
		switch {
		case path.Ext(file.path) != ".md" || slices.Contains(generated, file.path):
		case file.path == readmePage:
			if n := len(strings.Fields(file.content)); n > readmeWords {
				found = append(found, finding{file.path, 1, fmt.Sprintf("it has %d words, over %d", n, readmeWords), "move a part to docs/guide, and link it"})
			}
			number := 0
			for line := range strings.Lines(file.content) {
				number++
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > longestLine {
					found = append(found, finding{file.path, number, fmt.Sprintf("the line has %d characters, over %d", n, longestLine), "make a list or two paragraphs of it"})
				}
			}
		case file.path == architecturePage:
			for line, passage := range paragraphs(file.content) {
				if n := utf8.RuneCountInString(passage); n > longestPassage {
					found = append(found, finding{file.path, line, fmt.Sprintf("the paragraph has %d characters, over %d", n, longestPassage), "split it by thought"})
				}
			}
		default:
			for line, passage := range paragraphs(file.content) {
				if n := utf8.RuneCountInString(passage); n > longestLine {
					found = append(found, finding{file.path, line, fmt.Sprintf("the paragraph has %d characters, over %d", n, longestLine), "make a list or two paragraphs of it"})
				}
			}
		}
	}
	return found
}

// headings finds what stands twice on a page: a link can lead to one of them only, and a
// merge may have left a part twice.
func headings(t tree) []finding {
	var found []finding
	for _, file := range t.texts {
		if path.Ext(file.path) != ".md" {
			continue
		}
		lines, inCode, number := map[string]int{}, false, 0
		for line := range strings.Lines(file.content) {
			number++
			if strings.HasPrefix(line, "```") {
				inCode = !inCode
			}
			if inCode || !strings.HasPrefix(line, "#") {
				continue
			}
			title := strings.TrimLeft(line, "# ")
			if first := lines[title]; first > 0 {
				found = append(found, finding{file.path, number, fmt.Sprintf("the heading %q stands on line %d too", strings.TrimSpace(title), first), "name each of them by what is below it"})
			}
			lines[title] = number
		}
	}
	return found
}

// paragraphs are the texts of a page by the line on which they begin: what stands
// between blank lines, and each item of a list. Code and tables are none.
func paragraphs(page string) map[int]string {
	all := map[int]string{}
	number, begin, inCode := 0, 0, false
	for line := range strings.Lines(page) {
		number++
		trimmed := strings.TrimSpace(line)
		fence := strings.HasPrefix(trimmed, "```")
		switch {
		case fence:
			inCode, begin = !inCode, 0
		case inCode, trimmed == "", strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "#"):
			begin = 0
		case begin == 0 || listItem.MatchString(line):
			begin = number
			all[begin] = trimmed
		default:
			all[begin] += " " + trimmed
		}
	}
	return all
}

var (
	listItem     = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
	pageLink     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	anchorJunk   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeSpan     = regexp.MustCompile("`[^`]*`")
	namedPath    = regexp.MustCompile("`((?:internal|cmd|docs|schema|queries|deploy)/[\\w./-]*\\w)`")
	linkInAnchor = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// links holds that a link of a page leads to a file of the repository and, after a
// #, to a heading of it, and that a path in backquotes exists.
func links(t tree) []finding {
	anchors := map[string]map[string]bool{}
	for _, file := range t.texts {
		if path.Ext(file.path) == ".md" {
			anchors[file.path] = headingAnchors(file.content)
		}
	}
	var found []finding
	for _, file := range t.texts {
		if path.Ext(file.path) != ".md" || strings.HasSuffix(file.path, ".tmpl.md") {
			continue // a template becomes a page elsewhere
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
					found = append(found, finding{file.path, number, named[1] + " is not in the repository", "correct the path"})
				}
			}
			for _, link := range pageLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				if what := deadLink(t, anchors, file.path, link[1]); what != "" {
					found = append(found, finding{file.path, number, what, "correct the link"})
				}
			}
		}
	}
	return found
}

// deadLink says what a link lacks; empty: nothing, or it leads out of the repository.
func deadLink(t tree, anchors map[string]map[string]bool, from, link string) string {
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

// has reports whether there is a file or a folder of a name.
func (t tree) has(name string) bool {
	return slices.ContainsFunc(t.names, func(other string) bool { return other == name || strings.HasPrefix(other, name+"/") })
}

// headingAnchors are the names under which headings of a page can be linked.
func headingAnchors(page string) map[string]bool {
	names := map[string]bool{}
	inCode := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if title := strings.TrimLeft(line, "#"); title != line && !inCode {
			title = linkInAnchor.ReplaceAllString(strings.TrimSpace(title), "$1")
			names[strings.ReplaceAll(anchorJunk.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = true
		}
	}
	return names
}

func TestLongTextsAreFound(t *testing.T) {
	long := strings.Repeat("é", longestLine)
	passage := strings.Repeat("x", longestPassage)
	mustCatch(t, lengths, []breach{
		{"at the bound", map[string]string{
			readmePage:       long + "\n" + strings.Repeat("word ", 10),
			architecturePage: passage + "\n\n- " + passage[2:] + "\n- b\n\n| " + passage + " |\n```\n" + passage + passage + "\n```\n",
			"docs/other.md":  long + "\n\n" + long,
			"docs/cli.md":    long + long,
		}, nil},
		{"over it", map[string]string{
			readmePage:       "# A\n" + long + "é\n" + strings.Repeat("word\n", readmeWords),
			architecturePage: "# A\n\n" + passage + "\nx\n\n1. a\n2. " + passage + "\n",
			"docs/other.md":  "\nx " + long + "\n",
		}, []string{
			"README.md:1: it has 1503 words, over 1500",
			"README.md:2: the line has 301 characters, over 300",
			"docs/ARCHITECTURE.md:3: the paragraph has 602 characters, over 600",
			"docs/ARCHITECTURE.md:7: the paragraph has 603 characters, over 600",
			"docs/other.md:2: the paragraph has 302 characters, over 300",
		}},
	})
}

func TestDeadLinksAreFound(t *testing.T) {
	mustCatch(t, links, []breach{
		{"links", map[string]string{
			"README.md": "[a](docs/a.md) [b](docs/a.md#one-two-c) [c](#here) [d](docs) [e](https://example.com/x.md)\n## Here\n`[f](nowhere)`\n```\n[g](nowhere)\n```\n[h](docs/b.md)\n[i](docs/a.md#three)\n[j](#there)\n`docs/a.md` `docs/*.md` `docs/c.md`",
			"docs/a.md": "## One, two: `c`\n[up](../README.md#here)",
		}, []string{
			"README.md:10: docs/c.md is not in the repository",
			"README.md:7: docs/b.md leads to no file",
			"README.md:8: docs/a.md#three leads to no heading",
			"README.md:9: #there leads to no heading",
		}},
	})
}
