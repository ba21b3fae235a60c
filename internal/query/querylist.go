package query

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/nearest"
)

// WriteList lists queries by subject. In the format Table, each query is one line. JSON and CSV
// contain the fields of the headers and the marts; CSV has only the name of each parameter.
func WriteList(w io.Writer, f Format, all []Query) error {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Query) int { return strings.Compare(a.Subject, b.Subject) })
	switch f {
	case Table:
		return listBySubject(w, all)
	case CSV:
		return listAsCSV(w, all)
	case JSON:
		return listAsJSON(w, all)
	}
	return &UsageError{Problem: fmt.Sprintf("--format is %q: --list writes table, csv or json", f)}
}

func listBySubject(w io.Writer, all []Query) error {
	var b strings.Builder
	width := 0
	for _, q := range all {
		width = max(width, len(q.Name))
	}
	subject := ""
	for _, q := range all {
		if q.Subject != subject {
			subject = q.Subject
			b.WriteString(subject + "\n")
		}
		marts := strings.Join(q.Marts(), ", ")
		if marts != "" {
			marts = " [" + marts + "]"
		}
		fmt.Fprintf(&b, "  %-*s  %s%s%s\n", width, q.Name, q.Title, marts, q.ownNote())
	}
	b.WriteString("\nquery --list WORD... finds queries, query --list NAME explains one with its parameters, query --sql NAME prints its SQL\n")
	_, err := io.WriteString(w, b.String())
	return err
}

var (
	comments = regexp.MustCompile(`--.*`)
	martName = regexp.MustCompile(`\bmart\.(\w+)`)
)

// Marts lists the views in the schema mart that the SQL reads. It leaves out mart.snapshot, which
// contains only the time of the snapshot.
func (q Query) Marts() []string {
	var names []string
	for _, m := range martName.FindAllStringSubmatch(comments.ReplaceAllString(q.SQL, ""), -1) {
		if m[1] != "snapshot" {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FilterByWords returns the queries with all words in their name, title, subject or synonyms. If there are none, it
// also searches the rest of their description. Upper and lower case, and singular and plural, are equal. Words such as
// "what" and "we" are ignored, so that a question in plain words finds its query.
func FilterByWords(all []Query, words []string) []Query {
	var byName, byDescription []Query
	wanted := searchWords(words...)
	for _, q := range all {
		known := searchWords(q.Name, q.Title, q.Subject, q.Also)
		isUnknown := func(word string) bool { return !slices.Contains(known, word) }
		if !slices.ContainsFunc(wanted, isUnknown) {
			byName = append(byName, q)
		}
		known = append(known, searchWords(q.Grain, q.About)...)
		if !slices.ContainsFunc(wanted, isUnknown) {
			byDescription = append(byDescription, q)
		}
	}
	if len(byName) > 0 {
		return byName
	}
	return byDescription
}

// searchWords returns the words of texts in the singular. The parts of a name such as refunds_by_month are words too.
func searchWords(texts ...string) []string {
	var words []string
	for _, word := range nearest.Words(strings.ReplaceAll(strings.Join(texts, " "), "_", " ")) {
		if !isStopWord(word) {
			words = append(words, singularOf(word))
		}
	}
	return words
}

func singularOf(word string) string {
	const (
		minPlural      = 4 // "is" and "gas" are no plurals
		minPluralInIES = 5 // "ties" is the plural of "tie"
	)
	if strings.HasSuffix(word, "ies") && len(word) >= minPluralInIES {
		return strings.TrimSuffix(word, "ies") + "y"
	}
	if strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && len(word) >= minPlural {
		return strings.TrimSuffix(word, "s")
	}
	return word
}

func isStopWord(word string) bool {
	const ignored = " a an and are by did do does each for from has have how i in is it many me much my of on or our show that the their them this to us was we were what when where which who whom why with "
	return strings.Contains(ignored, " "+word+" ")
}

func (q Query) ownNote() string {
	if q.File == "" {
		return ""
	}
	return " (own: " + q.File + ")"
}

// Explain writes the header and the marts of a query. Title, grain and about are broken into lines of
// at most 80 characters.
func Explain(w io.Writer, q Query) error {
	const indent, width = "  ", 80
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", q.Name, q.ownNote())
	if q.Replacement != "" {
		fmt.Fprintf(&b, "%sreplaced by %s\n", indent, q.Replacement)
	}
	grain := ""
	if q.Grain != "" {
		grain = "one row per " + strings.TrimPrefix(q.Grain, "one row per ")
	}
	for _, text := range []string{q.Title, grain, q.About} {
		if text != "" {
			b.WriteString(indent + strings.ReplaceAll(WrapLines(text, width-len(indent)), "\n", "\n"+indent) + "\n")
		}
	}
	if marts := q.Marts(); len(marts) > 0 {
		b.WriteString(indent + "mart: " + strings.Join(marts, ", ") + "\n")
	}
	for _, p := range q.Params {
		fmt.Fprintf(&b, "  --param %s\n", p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type queryInList struct {
	Subject string        `json:"subject"`
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	Grain   string        `json:"grain"`
	About   string        `json:"about"`
	Also    string        `json:"also"`
	Params  []paramInList `json:"params"`
	Marts   []string      `json:"marts"`
	File    string        `json:"file"`
}

type paramInList struct {
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Nullable bool    `json:"nullable"`
	Default  *string `json:"default"` // null for a required parameter
	About    string  `json:"about"`
	Values   string  `json:"values"`
}

func listAsJSON(w io.Writer, all []Query) error {
	listed := make([]queryInList, len(all))
	for i, q := range all {
		listed[i] = queryInList{q.Subject, q.Name, q.Title, q.Grain, q.About, q.Also, []paramInList{}, append([]string{}, q.Marts()...), q.File}
		for _, p := range q.Params {
			param := paramInList{Name: p.Name, Type: p.Type, Nullable: p.TakesNull(), About: p.About, Values: p.Values}
			if p.Default != "" {
				param.Default = &p.Default
			}
			listed[i].Params = append(listed[i].Params, param)
		}
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(listed)
}

func listAsCSV(w io.Writer, all []Query) error {
	records := [][]string{{"subject", "name", "title", "grain", "about", "params", "marts", "file"}}
	for _, q := range all {
		var params []string
		for _, p := range q.Params {
			params = append(params, p.Name)
		}
		records = append(records, []string{q.Subject, q.Name, q.Title, q.Grain, q.About, strings.Join(params, " "), strings.Join(q.Marts(), " "), q.File})
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return out.WriteAll(records)
}
