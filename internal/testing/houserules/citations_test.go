package houserules_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/stream"
)

// servicePage is the specification of the service. "spec 4.1" in any file means section 4.1 of this
// page.
const servicePage = "docs/service.md"

// checkCitations checks three rules. Each section, record and field that a citation names must be on
// servicePage. Each "section N" must follow the word "spec". Each named .md file must be in the
// repository.
func checkCitations(t tree) []finding {
	service := readServicePage(t)
	var findings []finding
	for _, place := range citingPlaces(t) {
		for _, problem := range service.citationProblems(place.content) {
			findings = append(findings, finding{place.path, place.line, problem, "correct the citation, or " + servicePage})
		}
		for _, match := range sectionNumber.FindAllStringSubmatch(place.content, -1) {
			if !strings.HasSuffix(strings.ToLower(match[1]), "spec") {
				findings = append(findings, finding{place.path, place.line, fmt.Sprintf("%q does not name its page", match[2]),
					"write the word spec before it, or describe the passage without a number"})
			}
		}
		for _, name := range pageName.FindAllString(place.content, -1) {
			if !strings.Contains(name, "*") && !slices.ContainsFunc(t.paths, func(file string) bool { return strings.HasSuffix("/"+file, "/"+path.Clean(name)) }) {
				findings = append(findings, finding{place.path, place.line, name + " is not in the repository", "name an existing page, or describe the subject"})
			}
		}
	}
	return findings
}

var (
	serviceHeading = regexp.MustCompile(`^#{2,3} (\d+(?:\.\d+)?) `)
	sectionNumber  = regexp.MustCompile(`(\w*),? ?\b(sections? \d+(?:\.\d+)?)\b`)
	pageName       = regexp.MustCompile(`[\w*][\w./*-]*\.md\b`)
	quotedField    = regexp.MustCompile("`([a-z_0-9.]+)`")

	// citation matches one or more sections and the following text, which can begin with a record,
	// a field, a request or a header: "spec 4.1", "spec sections 2.1 and 5", "Spec 2.4 Order.client_id",
	// "Spec 6.3 article_id".
	citation      = regexp.MustCompile(`\b([Ss])pec(?:ification)?,? (?:sections? )?(\d+(?:\.\d+)?)\b((?:(?:,| and) \d+(?:\.\d+)?\b)*)(?: ([^'|(]*))?`)
	citedNumber   = regexp.MustCompile(`\d+(?:\.\d+)?`)
	citedRecord   = regexp.MustCompile(`^([A-Z][A-Za-z]+(?: info)?)((?:\.[a-z_0-9]+)*)`)
	citedVerbatim = regexp.MustCompile(`^((?:GET |x-)?[a-z_/][\w./{}-]*[\w}])`)
)

// section is a section of servicePage: its text and the records that it describes.
type section struct {
	text    string
	records []string
}

// serviceSpec is the parsed servicePage.
type serviceSpec struct {
	sections map[string]*section          // by number
	fields   map[string]map[string]string // the type of each field, by record and field
}

func readServicePage(t tree) serviceSpec {
	spec := serviceSpec{map[string]*section{}, map[string]map[string]string{}}
	i := slices.IndexFunc(t.textFiles, func(f textFile) bool { return f.path == servicePage })
	if i < 0 {
		return spec
	}
	current, record := &section{}, ""
	for line := range strings.Lines(t.textFiles[i].content) {
		if number := serviceHeading.FindStringSubmatch(line); number != nil {
			current, record = &section{}, ""
			spec.sections[number[1]] = current
		}
		if name, ok := strings.CutPrefix(line, "#### "); ok {
			record = strings.TrimSpace(name)
			current.records = append(current.records, record)
			spec.fields[record] = map[string]string{}
		}
		current.text += line
		cells := strings.Split(line, "|")
		if record == "" || len(cells) < 4 {
			continue
		}
		for _, field := range quotedField.FindAllStringSubmatch(cells[1], -1) {
			spec.fields[record][field[1]] = cells[2]
		}
	}
	return spec
}

// citationProblems describes the citations in a text that name something that is not on servicePage.
// After "spec" in lower case, the section, the record and its fields are checked. Other words belong to
// the sentence.
func (p serviceSpec) citationProblems(text string) []string {
	var problems []string
	for _, match := range citation.FindAllStringSubmatch(text, -1) {
		for _, number := range append([]string{match[2]}, citedNumber.FindAllString(match[3], -1)...) {
			if p.sections[number] == nil {
				problems = append(problems, "there is no section "+number+" of the service")
			}
		}
		citedSection, afterNumber := p.sections[match[2]], match[4]
		if citedSection == nil || match[3] != "" {
			continue
		}
		record, verbatim := citedRecord.FindStringSubmatch(afterNumber), citedVerbatim.FindString(afterNumber)
		switch {
		case record != nil && record[1] != "GET":
			if !slices.Contains(citedSection.records, record[1]) || !p.hasField(record[1], strings.TrimPrefix(record[2], ".")) {
				problems = append(problems, fmt.Sprintf("section %s of the service does not name %s", match[2], record[0]))
			}
		case verbatim != "" && match[1] == "S" && !strings.Contains(citedSection.text, "`"+verbatim):
			problems = append(problems, fmt.Sprintf("section %s of the service does not name %s", match[2], verbatim))
		}
	}
	return problems
}

// hasField reports whether a record has a field. A dotted name such as owner.age can also mean the
// field age of the record that is the type of the field owner.
func (p serviceSpec) hasField(record, dotted string) bool {
	fields := p.fields[record]
	if _, ok := fields[dotted]; ok || dotted == "" {
		return true
	}
	first, rest, nested := strings.Cut(dotted, ".")
	if !nested {
		return false
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(p.fields)), func(other string) bool {
		return regexp.MustCompile(`\b`+other+`\b`).MatchString(fields[first]) && p.hasField(other, rest)
	})
}

// citingPlace is a comment, a line or the value of a field Spec, which may contain a citation.
type citingPlace struct {
	textFile
	line int
}

// citingPlaces returns the comments of Go files, each as one line, the values of the fields Spec in
// these files, and the lines of all other files. It leaves out servicePage. It also leaves out this
// package, because its tests contain invalid citations.
func citingPlaces(t tree) []citingPlace {
	var places []citingPlace
	for _, s := range t.sources {
		if isWithin(s.dir(), []string{"internal/testing/houserules"}) {
			continue
		}
		for _, group := range s.file.Comments {
			words := strings.Join(strings.Fields(group.Text()), " ")
			places = append(places, citingPlace{textFile{s.path, words}, s.line(group.Pos())})
		}
		places = append(places, specLiterals(s)...)
	}
	for _, file := range t.textFiles {
		if path.Ext(file.path) == ".go" || file.path == servicePage {
			continue
		}
		number := 0
		for line := range strings.Lines(file.content) {
			number++
			places = append(places, citingPlace{textFile{file.path, line}, number})
		}
	}
	return places
}

// specLiterals returns the values of the fields named Spec in Go code, such as Spec: "4.2, 5", as
// citations.
func specLiterals(s source) []citingPlace {
	var places []citingPlace
	for node := range ast.Preorder(s.file) {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, isName := pair.Key.(*ast.Ident)
		value, isLiteral := pair.Value.(*ast.BasicLit)
		if isName && isLiteral && key.Name == "Spec" {
			for _, cited := range expandCitations(strings.Trim(value.Value, "`\"")) {
				places = append(places, citingPlace{textFile{s.path, cited}, s.line(pair.Pos())})
			}
		}
	}
	return places
}

// expandCitations splits a list into citations: "2.4 Order, LineItem, 9" becomes "Spec 2.4 Order",
// "Spec 2.4 LineItem" and "Spec 9".
func expandCitations(list string) []string {
	var all []string
	number := ""
	for item := range strings.SplitSeq(list, ", ") {
		if first := citedNumber.FindString(item); first != "" && strings.HasPrefix(item, first) {
			number, item = first, strings.TrimSpace(strings.TrimPrefix(item, first))
		}
		all = append(all, strings.TrimSpace("Spec "+number+" "+item))
	}
	return all
}

// TestStreamsCiteTheService checks the citations in the literals of all streams.
func TestStreamsCiteTheService(t *testing.T) {
	service := readServicePage(projectTree(t))
	for _, s := range stream.AllWithEvents() {
		for _, cited := range expandCitations(s.Spec) {
			for _, problem := range service.citationProblems(cited) {
				t.Errorf("stream %s: %s, want valid citations: correct its Spec, or %s", s.Name, problem, servicePage)
			}
		}
	}
}

func TestInvalidCitationsAreFound(t *testing.T) {
	const page = "## 1 Purpose\n## 2 Records\n### 2.1 Shops\n#### Shop\n| `id`, `name` | text | |\n| `owner` | Person | |\n" +
		"| `place` | object | |\n| `place.town` | text | |\n### 2.2 People\n#### Person\n| `age` | int | |\n#### Token info\n" +
		"### 2.3 Calls\n| `GET /shops/{id}` | `x-shop-id` |\n"
	testRule(t, checkCitations, []ruleCase{
		{"valid citations", map[string]string{
			servicePage: page,
			"a/a.go":    "// Package a is made of spec 2.1, as spec\n// section 2.3 and spec sections 2.1 and 2.2 say.\npackage a\nvar s = stream{Spec: \"2.1 Shop, 2.2 Person, Token info, 2.3\"}",
			"s.sql":     "'A. Spec 2.1 Shop.owner.age.' 'B. Spec 2.1 Shop.place.town.' 'C. Spec 2.3 x-shop-id.'\n'Spec 2.3 GET /shops/{id}.' 'Spec 2 (conventions).'",
			"README.md": "see [the service](docs/service.md), *.md and service.md",
		}, nil},
		{"invalid citations", map[string]string{
			servicePage: page,
			"a/a.go":    "// Package a is made of spec\n// section 2.9.\npackage a\nvar s = stream{Spec: \"2.1 Person, 3\"}",
			"s.sql":     "Spec 2.1 Shop.age.'\nSpec 2.1 Shop.owner.name.'\nSpec 2.3 x-shop-name.'\nspec 2.2 and 7.1\nSpec 2.4 Shop.id.'",
		}, []string{
			"a/a.go:1: there is no section 2.9 of the service",
			"a/a.go:4: section 2.1 of the service does not name Person",
			"a/a.go:4: there is no section 3 of the service",
			"s.sql:1: section 2.1 of the service does not name Shop.age",
			"s.sql:2: section 2.1 of the service does not name Shop.owner.name",
			"s.sql:3: section 2.3 of the service does not name x-shop-name",
			"s.sql:4: there is no section 7.1 of the service",
			"s.sql:5: there is no section 2.4 of the service",
		}},
		{"other documents", map[string]string{
			servicePage: page,
			"a/a.go":    "// Package a follows design section 4.\n// It is in line with section 2.1.\npackage a\n// b is in design.md.\nvar b int",
			"README.md": "more in docs/plan.md",
		}, []string{
			"README.md:1: docs/plan.md is not in the repository",
			`a/a.go:1: "section 2.1" does not name its page`,
			`a/a.go:1: "section 4" does not name its page`,
			"a/a.go:4: design.md is not in the repository",
		}},
	})
}
