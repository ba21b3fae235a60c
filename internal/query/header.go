package query

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"placementsync/internal/nearest"
)

// A file of a query begins with comment lines that say what it answers:
//
//	-- subject: prices
//	-- title: Price changes
//	-- grain: one row per change
//	-- about: Which prices moved.
//	-- param: currency VARCHAR NULL -- only prices in this currency
//	-- values: SELECT DISTINCT currency FROM product_listing_prices
//
// The values are those of the parameter above them. Other comments carry no meaning.
// The header of a check also has severity, and each if it is a pattern; see [LoadChecks].

var (
	headerLine = regexp.MustCompile(`^--\s*(\w+):\s*(.*)$`)
	paramField = regexp.MustCompile(`^(\w+) (VARCHAR|BIGINT|COUNT|BOOLEAN|DATE|TIMESTAMPTZ|TIMEZONE|DECIMAL|\w+(?:\|\w+)+)(\??) ('[^']+'|\S+) -- (.+)$`)
)

// headerWords begin the lines that carry meaning.
func headerWords(isCheck bool) []string {
	words := []string{"subject", "title", "grain", "about", "param", "values"}
	if isCheck {
		words = append(words, "severity", "each")
	}
	return words
}

// requiredText stands in the place of a default where there is none.
const requiredText = "REQUIRED"

// fault is what is wrong with a line of a file.
type fault struct {
	line int
	text string
}

// parseHeader reads the comment lines at the top of a text into q, whose SQL it is.
func (q *Query) parseHeader() (faults []fault) {
	number := 0
	add := func(format string, args ...any) { faults = append(faults, fault{number, fmt.Sprintf(format, args...)}) }
	for line := range strings.Lines(q.SQL) {
		number++
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
		singles := map[string]*string{"subject": &q.Subject, "title": &q.Title, "grain": &q.Grain, "about": &q.About}
		if q.isCheck {
			singles["severity"], singles["each"] = &q.Severity, &q.Each
		}
		switch single := singles[word]; {
		case single != nil && (text == "" || *single != ""):
			add("state %s once, with a text", word)
		case single != nil:
			*single = text
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
			add("state the values as a SELECT, once, below the parameter that they are for")
		case word == "values":
			q.Params[len(q.Params)-1].Values = text
		default:
			if alike := nearest.FindAlike(headerWords(q.isCheck), word); len(alike) > 0 {
				add("%q is no word of a header: did you mean %s?", word, alike[0])
			}
		}
	}
	return faults
}

// parseParam reads what stands behind param: and checks that its default is of its type.
func parseParam(text string) (Param, error) {
	m := paramField.FindStringSubmatch(text)
	if m == nil {
		return Param{}, fmt.Errorf("state a parameter as name type default -- meaning, not %q", text)
	}
	p := Param{Name: m[1], Type: m[2], Nullable: m[3] != "", Default: m[4], About: m[5]}
	if inner := len(m[4]) - 1; inner > 1 && m[4][0] == '\'' && m[4][inner] == '\'' {
		p.Default = m[4][1:inner]
	}
	if p.Default == requiredText {
		p.Default = ""
		return p, nil
	}
	if p.Type == "DATE" && backText.MatchString(p.Default) {
		return p, nil
	}
	_, err := p.bindText(p.Default)
	return p, err
}

// parseFile reads a query or a check of a user. A text without a header is a query as well.
func parseFile(q Query, text string) (Query, []fault) {
	q.SQL = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) {
		return q, []fault{{0, "is not UTF-8: save it as such"}}
	}
	faults := q.parseHeader()
	for _, p := range q.Params {
		if !slices.Contains(namesIn(q.SQL), p.Name) {
			faults = append(faults, fault{0, fmt.Sprintf("declares parameter %q, which its SQL does not use as $%s", p.Name, p.Name)})
		}
	}
	return q, faults
}

var paramName = regexp.MustCompile(`\$(\w+)`)

// namesIn lists what a text names as $name, in texts and comments too.
func namesIn(sql string) (names []string) {
	for _, m := range paramName.FindAllStringSubmatch(sql, -1) {
		names = append(names, m[1])
	}
	return names
}

// ParseText reads the SQL of a file: its header may declare parameters. What is wrong with
// it is a *UsageError.
func ParseText(file, text string) (Query, error) {
	q, faults := parseFile(Query{File: file}, text)
	if len(faults) > 0 {
		return Query{}, &UsageError{Problem: strings.Join(placeFaults(file, faults), "\n")}
	}
	return q, nil
}

// placeFaults writes file:line: text.
func placeFaults(file string, faults []fault) (lines []string) {
	for _, f := range faults {
		place := file
		if f.line > 0 {
			place += fmt.Sprintf(":%d", f.line)
		}
		lines = append(lines, place+": "+f.text)
	}
	return lines
}
