package query

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"placementsync/internal/nearest"
)

// The file of a query begins with a header of comment lines:
//
//	-- subject: prices
//	-- title: Price changes
//	-- grain: one row per change
//	-- about: Which prices moved.
//	-- also: increase, decrease, dearer
//	-- chart: bar x=day y=rises,falls
//	-- columns: first day rises
//	-- heading: p50_days Days from payment to live, median
//	-- param: currency VARCHAR NULL -- only prices in this currency
//	-- values: SELECT DISTINCT currency FROM product_listing_prices
//
// A values line belongs to the parameter above it. The line "also" has further words by which a search finds
// the query. The line "replacement" names the query that replaces this one. For the line "chart", see [Chart].
// The header of a check also has the line "severity",
// and may have the line "each"; see [LoadChecks] and [EachTable]. A line that begins with a misspelled
// word, such as "parm:", is a mistake. Other comments are ignored.

var (
	headerLine = regexp.MustCompile(`^--\s*(\w+):\s*(.*)$`)
	paramText  = regexp.MustCompile(`^(\w+) (VARCHAR|BIGINT|COUNT|BOOLEAN|DATE|TIMESTAMPTZ|TIMEZONE|STATUSES|DECIMAL|\w+(?:\|\w+)+)(\??) ('(?:[^']|'')+'|\S+) -- (.+)$`)
)

// requiredText is the default of a required parameter in a file.
const requiredText = "REQUIRED"

// fault is a mistake in the file of a query. Line 0 means the whole file.
type fault struct {
	line int
	text string
}

func (q *Query) parseHeader() (faults []fault) {
	textFields := map[string]*string{"subject": &q.Subject, "title": &q.Title, "grain": &q.Grain, "about": &q.About, "also": &q.Also,
		"replacement": &q.Replacement}
	if q.isCheck {
		textFields["severity"], textFields["each"] = &q.Severity, &q.Each
	}
	lineNumber := 0
	add := func(format string, args ...any) {
		faults = append(faults, fault{lineNumber, fmt.Sprintf(format, args...)})
	}
	for line := range strings.Lines(q.SQL) {
		lineNumber++
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "--") {
			if line == "" {
				continue
			}
			break
		}
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		word, text := m[1], strings.TrimSpace(m[2])
		switch field := textFields[word]; {
		case field != nil && (text == "" || *field != ""):
			add(`the line "-- %s: TEXT" may occur once and needs a text`, word)
		case field != nil:
			*field = text
		case word == "chart":
			chart, err := parseChart(text)
			if err == nil && q.Chart != nil {
				err = errors.New("a query has one chart")
			}
			if err != nil {
				add("%v", err)
				continue
			}
			q.Chart = chart
		case word == "columns":
			names, ok := strings.CutPrefix(text, "first ")
			if !ok || len(q.First) > 0 {
				add("write the most important columns as first COLUMN COLUMN ..., once, not %q", text)
				continue
			}
			q.First = strings.Fields(names)
		case word == "heading":
			column, label, ok := strings.Cut(text, " ")
			if _, isRepeated := q.Headings[column]; !ok || isRepeated {
				add(`write a heading as COLUMN TEXT, once for each column, not %q`, text)
				continue
			}
			if q.Headings == nil {
				q.Headings = map[string]string{}
			}
			q.Headings[column] = label
		case word == "param":
			p, err := parseParam(text)
			if _, twice := q.Param(p.Name); err == nil && twice {
				err = fmt.Errorf("parameter %q is declared twice", p.Name)
			}
			if err != nil {
				add("%v", err)
				continue
			}
			q.Params = append(q.Params, p)
		case word == "values" && (len(q.Params) == 0 || text == "" || q.Params[len(q.Params)-1].Values != ""):
			add(`the line "-- values: SELECT ..." may occur once, below the "-- param:" line of its parameter`)
		case word == "values":
			q.Params[len(q.Params)-1].Values = text
		default:
			if alike := nearest.FindNearest(append(slices.Sorted(maps.Keys(textFields)), "param", "values", "chart", "columns", "heading"), word); alike != "" {
				add("unknown header line %q: did you mean %s?", word, alike)
			}
		}
	}
	return faults
}

func parseParam(text string) (Param, error) {
	m := paramText.FindStringSubmatch(text)
	if m == nil {
		return Param{}, fmt.Errorf("write a parameter as NAME TYPE DEFAULT -- MEANING, not %q", text)
	}
	p := Param{Name: m[1], Type: m[2], Nullable: m[3] != "", Default: m[4], About: m[5]}
	if last := len(m[4]) - 1; last > 1 && m[4][0] == '\'' && m[4][last] == '\'' {
		p.Default = strings.ReplaceAll(m[4][1:last], "''", "'")
	}
	if p.Default == requiredText {
		p.Default = ""
		return p, nil
	}
	return p, p.CheckValue(p.Default)
}

func parseFile(q Query, text string) (Query, []fault) {
	q.SQL = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) {
		return q, []fault{{0, "is not UTF-8: save it as UTF-8"}}
	}
	faults := q.parseHeader()
	for _, p := range q.Params {
		if !regexp.MustCompile(`\$` + p.Name + `\b`).MatchString(q.SQL) {
			faults = append(faults, fault{0, fmt.Sprintf("declares parameter %q, but its SQL does not contain $%s", p.Name, p.Name)})
		}
	}
	switch {
	case len(faults) > 0:
	case q.Name != "" && q.Title == "":
		faults = []fault{{1, "needs a title: begin with -- title: TEXT"}}
	case q.isCheck:
		faults = q.faultsOfCheck()
	}
	return q, faults
}

// ParseText parses the text of a query file that is not in the library. Its header may declare
// parameters. For mistakes in the file, ParseText returns a *UsageError.
func ParseText(file, text string) (Query, error) {
	q, faults := parseFile(Query{File: file}, text)
	if len(faults) > 0 {
		return Query{}, &UsageError{Problem: strings.Join(formatFaults(file, faults), "\n")}
	}
	return q, nil
}

// formatFaults returns the mistakes as lines of the form file:line: text.
func formatFaults(file string, faults []fault) (lines []string) {
	for _, f := range faults {
		position := file
		if f.line > 0 {
			position += fmt.Sprintf(":%d", f.line)
		}
		lines = append(lines, position+": "+f.text)
	}
	return lines
}
