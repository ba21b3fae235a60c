package houserules_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/stream"
)

// servicePage is the specification of the service. "spec 4.1" in any file means section 4.1 of this page.
const servicePage = "docs/service.md"

var (
	serviceHeading = regexp.MustCompile(`^#{2,3} (\d+(?:\.\d+)?) `)
	// citation matches one or more sections, and a record with a field after the last section: "spec 4.1",
	// "spec sections 2.1 and 5", "Spec 2.4 Order.client_id".
	citation = regexp.MustCompile(`\b[Ss]pec(?:ification)?,? (?:sections? )?(\d+(?:\.\d+)?\b(?:(?:,| and) \d+(?:\.\d+)?\b)*)` +
		`(?: ([A-Z][A-Za-z]+(?: info)?)((?:\.[a-z_0-9]+)*))?`)
	sectionNumber = regexp.MustCompile(`\d+(?:\.\d+)?`)
	pageName      = regexp.MustCompile(`[\w*][\w./*-]*\.md\b`)
	lineComment   = regexp.MustCompile(`//.*`)
)

// checkCitations checks the citations in pages, SQL and comments, except in this package. Each cited section must be on servicePage,
// and describe the record and the field that follow. Each named .md file must be in the repository.
func checkCitations(t *testing.T, project tree) {
	sections := serviceSections(project.texts[servicePage])
	checked := 0
	for file, text := range project.texts {
		if file == servicePage || isWithin(file, "internal/testing/houserules") {
			continue
		}
		if path.Ext(file) == ".go" {
			comments := strings.Join(lineComment.FindAllString(text, -1), " ")
			text = strings.Join(strings.Fields(strings.ReplaceAll(comments, "//", " ")), " ")
		}
		for _, cited := range citation.FindAllString(text, -1) {
			checked++
			if problem := citationProblem(sections, cited); problem != "" {
				t.Errorf("%s: %q: %s: correct the citation, or %s", file, cited, problem, servicePage)
			}
		}
		for _, name := range pageName.FindAllString(text, -1) {
			isPage := slices.ContainsFunc(project.paths, func(p string) bool { return strings.HasSuffix("/"+p, "/"+path.Clean(name)) })
			if !strings.Contains(name, "*") && !isPage {
				t.Errorf("%s: %s is not in the repository: name an existing page", file, name)
			}
		}
	}
	for _, s := range stream.AllWithEvents() {
		number := ""
		for item := range strings.SplitSeq(s.Spec, ", ") { // such as "2.4 Order, LineItem, 9"
			if first := sectionNumber.FindString(item); first != "" && strings.HasPrefix(item, first) {
				number, item = first, strings.TrimPrefix(item, first)
			}
			if problem := citationProblem(sections, "Spec "+number+" "+strings.TrimSpace(item)); problem != "" {
				t.Errorf("stream %s: %q: %s: correct its Spec, or %s", s.Name, item, problem, servicePage)
			}
		}
	}
	if checked < 100 {
		t.Errorf("found %d citations, want at least 100", checked)
	}
}

// serviceSections returns the text of each section, by its number.
func serviceSections(page string) map[string]string {
	sections, number := map[string]string{}, ""
	for line := range strings.Lines(page) {
		if heading := serviceHeading.FindStringSubmatch(line); heading != nil {
			number = heading[1]
		}
		sections[number] += line
	}
	return sections
}

// citationProblem returns what the service page lacks of a citation, or "".
func citationProblem(sections map[string]string, cited string) string {
	match := citation.FindStringSubmatch(cited)
	last := ""
	for _, last = range sectionNumber.FindAllString(match[1], -1) {
		if sections[last] == "" {
			return "there is no section " + last
		}
	}
	record, field := match[2], strings.TrimPrefix(match[3], ".")
	// After "spec" in lower case, a capital letter can begin the next sentence.
	isSentence := strings.HasPrefix(cited, "s") && field == ""
	if record == "" || record == "GET" || isSentence {
		return ""
	}
	_, described, hasRecord := strings.Cut(sections[last], "\n#### "+record+"\n")
	if !hasRecord {
		return "section " + last + " does not describe " + record
	}
	described, _, _ = strings.Cut(described, "\n#### ")
	name, _, _ := strings.Cut(field, ".")
	if field != "" && !strings.Contains(described, "`"+name+"`") && !strings.Contains(described, "`"+field+"`") {
		return "section " + last + " does not describe " + record + "." + field
	}
	return ""
}
