package query

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"placementsync/internal/humanize"
	"placementsync/internal/nearest"
)

// Query is SQL with parameters. The header of a file declares parameters with their types. In a user's query, each
// undeclared $name is a parameter of type VARCHAR.
type Query struct {
	Name string // of the file, without its extension; empty for SQL that is not in a library
	// File is the path of a user's file. It is empty for built-in queries and for SQL from the
	// command line.
	File    string
	Subject string // a word by which lists of queries are grouped
	// Title describes the result. Grain describes one row. About explains the numbers. In a
	// user's query, only Title is required.
	Title, Grain, About string
	// Also lists further words for a search, such as synonyms, separated by commas.
	Also string
	// Replacement is the query, with its parameters, that replaces this one. The next release removes a
	// replaced query.
	Replacement string
	Chart       *Chart // nil means that the result has no chart
	// First lists the most important columns, which a narrow terminal hides last.
	First []string
	// Headings are the headings of columns whose name is not enough, see [Query.LabelOf].
	Headings map[string]string
	Params   []Param // as declared in the header
	SQL      string  // the whole text of the file, including the header
	// Severity is Hold or Warn for a check, and empty for other queries. If Each is set, the check is a pattern
	// for several queries, see [Query.Expand].
	Severity, Each string

	isCheck bool
	maxRows int // 0 means no limit
}

// IsUserDefined reports whether the user wrote the query. Such a query must only read.
func (q Query) IsUserDefined() bool { return q.Name == "" || q.File != "" }

// Param returns a declared parameter.
func (q Query) Param(name string) (Param, bool) {
	for _, p := range q.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// DescribeCut returns a note if the parameter "top" may have cut a result with this number of rows, or "".
func (q Query) DescribeCut(values map[string]string, rows int64) string {
	p, isDeclared := q.Param("top")
	if !isDeclared {
		return ""
	}
	value := cmp.Or(values[p.Name], p.Default)
	limit, err := strconv.ParseInt(value, 10, 64)
	if err != nil || rows < limit {
		return ""
	}
	return fmt.Sprintf("There may be more rows: the parameter top is %d (%s).", limit, p.About)
}

// wrapErr names the file first, because the fault can be in its SQL.
func (q Query) wrapErr(err error) error {
	if name := cmp.Or(q.File, q.Name); name != "" {
		return fmt.Errorf("run query %q: %w", name, err)
	}
	return fmt.Errorf("run query: %w", err)
}

// errPrefix names the query as the caller did, because the mistake is in the call.
func (q Query) errPrefix() string {
	if name := cmp.Or(q.Name, q.File); name != "" {
		return fmt.Sprintf("query %q: ", name)
	}
	return ""
}

// Text returns a query that runs SQL of the user.
func Text(sql string) Query { return Query{SQL: sql} }

// Param is one parameter of a query.
type Param struct {
	Name string
	// Type is VARCHAR, BIGINT, COUNT (a BIGINT from 0 on), BOOLEAN, DATE, TIMESTAMPTZ, TIMEZONE
	// (the name of a time zone), STATUSES (separated by commas), DECIMAL, or a choice of texts such
	// as buy|sell. Values of TIMEZONE, STATUSES, DECIMAL and a choice are bound as VARCHAR.
	Type string
	// Nullable is true if the type in the header ends with a question mark. The parameter then
	// accepts NULL, which means any or all. A default of NULL has the same effect.
	Nullable bool
	// Default is used if the user gives no value. "NULL" means NULL. If it is empty, the parameter
	// is required. A DATE may be relative to the selected snapshot, as in "snapshot-7d". A TIMEZONE
	// and STATUSES may be the key of a setting, see [Settings].
	Default string
	About   string
	// Values is the SELECT in the line "values" of the header, if there is one. Its first column
	// contains the values in the data. See [DB.ParamValues].
	Values string
}

// TakesNull reports whether the parameter accepts NULL.
func (p Param) TakesNull() bool { return p.Nullable || p.Default == nullText }

// String describes the parameter in one line.
func (p Param) String() string {
	kind := p.Type
	if p.Nullable {
		kind += " or NULL"
	}
	switch {
	case p.About == "":
		return p.Name + " " + kind
	case p.Default == "":
		return fmt.Sprintf("%s %s (required): %s", p.Name, kind, p.About)
	}
	return fmt.Sprintf("%s %s (default %s): %s", p.Name, kind, p.Default, p.About)
}

// Choices returns the values of a choice or a BOOLEAN. It returns nil for other types.
func (p Param) Choices() []string {
	if choices := strings.Split(p.Type, "|"); len(choices) > 1 {
		return choices
	}
	if p.Type == "BOOLEAN" {
		return []string{"true", "false"}
	}
	return nil
}

// UsageError reports a mistake of the caller, such as an unknown query, an unknown parameter or
// a value of the wrong type.
type UsageError struct {
	Problem string
	// Params contains the affected parameter, or all parameters of the query.
	Params []Param
}

func (e *UsageError) Error() string {
	var b strings.Builder
	b.WriteString(e.Problem)
	if n := len(e.Params); n > 0 {
		b.WriteString("; " + humanize.Noun(n, "parameter") + ":")
	}
	for _, p := range e.Params {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

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
	paramText  = regexp.MustCompile(`^(\w+) (VARCHAR|BIGINT|COUNT|BOOLEAN|DATE|TIMESTAMPTZ|TIMEZONE|STATUSES|DECIMAL|\w+(?:\|\w+)+)(\??) (?:'((?:[^']|'')+)'|(\S+)) -- (.+)$`)
)

// requiredText is the default of a required parameter in a file.
const requiredText = "REQUIRED"

// fault is a mistake in the file of a query. Line 0 means the whole file.
type fault struct {
	line int
	text string
}

func (q *Query) parseHeader() (faults []fault) {
	lineNumber := 0
	for line := range strings.Lines(q.SQL) {
		lineNumber++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !strings.HasPrefix(line, "--") {
			break
		}
		m := headerLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if err := q.parseHeaderLine(m[1], strings.TrimSpace(m[2])); err != nil {
			faults = append(faults, fault{lineNumber, err.Error()})
		}
	}
	return faults
}

func (q *Query) parseHeaderLine(word, text string) error {
	textFields := map[string]*string{"subject": &q.Subject, "title": &q.Title, "grain": &q.Grain, "about": &q.About, "also": &q.Also,
		"replacement": &q.Replacement}
	if q.isCheck {
		textFields["severity"], textFields["each"] = &q.Severity, &q.Each
	}
	switch word {
	case "chart":
		chart, err := parseChart(text)
		if err != nil {
			return err
		}
		if q.Chart != nil {
			return errors.New("a query has one chart")
		}
		q.Chart = chart
	case "columns":
		names, isFirst := strings.CutPrefix(text, "first ")
		if !isFirst || len(q.First) > 0 {
			return fmt.Errorf("write the most important columns as first COLUMN COLUMN ..., once, not %q", text)
		}
		q.First = strings.Fields(names)
	case "heading":
		column, label, hasLabel := strings.Cut(text, " ")
		if _, isRepeated := q.Headings[column]; !hasLabel || isRepeated {
			return fmt.Errorf("write a heading as COLUMN TEXT, once for each column, not %q", text)
		}
		if q.Headings == nil {
			q.Headings = map[string]string{}
		}
		q.Headings[column] = label
	case "param":
		p, err := parseParam(text)
		if err != nil {
			return err
		}
		if _, isRepeated := q.Param(p.Name); isRepeated {
			return fmt.Errorf("parameter %q is declared twice", p.Name)
		}
		q.Params = append(q.Params, p)
	case "values":
		last := len(q.Params) - 1
		isMisplaced := last < 0 || q.Params[last].Values != ""
		if isMisplaced || text == "" {
			return errors.New(`the line "-- values: SELECT ..." may occur once, below the "-- param:" line of its parameter`)
		}
		q.Params[last].Values = text
	default:
		field := textFields[word]
		if field == nil {
			known := append(slices.Sorted(maps.Keys(textFields)), "param", "values", "chart", "columns", "heading")
			if similar := nearest.FindNearest(known, word); similar != "" {
				return fmt.Errorf("unknown header line %q: did you mean %s?", word, similar)
			}
			return nil // an ordinary comment
		}
		if text == "" || *field != "" {
			return fmt.Errorf(`the line "-- %s: TEXT" may occur once and needs a text`, word)
		}
		*field = text
	}
	return nil
}

func parseParam(text string) (Param, error) {
	m := paramText.FindStringSubmatch(text)
	if m == nil {
		return Param{}, fmt.Errorf("write a parameter as NAME TYPE DEFAULT -- MEANING, not %q", text)
	}
	quotedDefault, plainDefault := m[4], m[5]
	p := Param{Name: m[1], Type: m[2], Nullable: m[3] != "", About: m[6]}
	if plainDefault == requiredText {
		return p, nil
	}
	p.Default = cmp.Or(strings.ReplaceAll(quotedDefault, "''", "'"), plainDefault)
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
	if len(faults) > 0 {
		return q, faults
	}
	if q.Name != "" && q.Title == "" {
		return q, []fault{{1, "needs a title: begin with -- title: TEXT"}}
	}
	if q.isCheck {
		return q, q.faultsOfCheck()
	}
	return q, nil
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

// Chart describes the chart of a result, as the line "chart" of the header states it:
//
//	-- chart: line x=month y=paid_total by=currency
//
// A query without this line has no chart.
type Chart struct {
	Kind ChartKind
	// X is the column with the position of a row: a date, a month, a time, or a name. Rows with the same
	// position are added up.
	X string
	// Y are the columns whose values are drawn, which have the same unit.
	Y []string
	// By are columns. Each combination of their values is a series of its own.
	By []string
}

// ChartKind is the form of a chart.
type ChartKind string

const (
	ChartBars  ChartKind = "bar"
	ChartLines ChartKind = "line"
	ChartSteps ChartKind = "step" // each value is valid until the next one
)

// Columns returns the names of all columns of the chart.
func (c Chart) Columns() []string {
	return append(append([]string{c.X}, c.Y...), c.By...)
}

var chartText = regexp.MustCompile(`^(bar|line|step) x=(\w+) y=(\w+(?:,\w+)*)(?: by=(\w+(?:,\w+)*))?$`)

func parseChart(text string) (*Chart, error) {
	m := chartText.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("write a chart as KIND x=COLUMN y=COLUMN,... by=COLUMN,... with the kind bar, line or step, not %q; by is optional", text)
	}
	c := &Chart{Kind: ChartKind(m[1]), X: m[2], Y: strings.Split(m[3], ",")}
	if m[4] != "" {
		c.By = strings.Split(m[4], ",")
	}
	if len(c.Y) > 1 && len(c.By) > 0 {
		return nil, fmt.Errorf("a chart with several columns y cannot have by: %q", text)
	}
	return c, nil
}
