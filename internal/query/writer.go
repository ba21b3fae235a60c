package query

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"placementsync/internal/humanize"
)

// Writer writes a result row by row. After an error, no other method is called. The values of a row are
// in the order of the columns, and valid only until Row returns.
type Writer interface {
	Begin(columns []Column) error
	Row(values []Value) error
	End() error
}

// Value is a value as text: numbers with all digits, times in RFC 3339, nested values as JSON.
// The text of NULL is empty.
type Value struct {
	Text string
	Null bool
}

// Or returns the text of the value, or substitute if it is NULL.
func (v Value) Or(substitute string) string {
	if v.Null {
		return substitute
	}
	return v.Text
}

// Number returns the value as a number for charts. ok is false for NULL and for texts that are
// not finite numbers.
func (v Value) Number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, false
	}
	return n, true
}

// Format is the format of a written result.
type Format string

// The formats. [NewWriter] does not support Parquet and Excel, see [DB.Save] and [DB.Send].
const (
	Table    Format = "table"
	CSV      Format = "csv"
	JSON     Format = "json"
	JSONL    Format = "jsonl"
	Markdown Format = "markdown"
	Parquet  Format = "parquet"
	Excel    Format = "xlsx"
	Vertical Format = "vertical"
)

func Formats() []Format { return []Format{Table, Vertical, CSV, JSON, JSONL, Markdown, Parquet, Excel} }

// ParseFormat returns the format with a name. An unknown name is a *UsageError.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return "", &UsageError{Problem: fmt.Sprintf("unknown format %q: use %s", name, strings.Join(names, ", "))}
}

// Output configures a written result.
type Output struct {
	Format Format
	// BOM writes a byte order mark at the beginning of text formats. Excel needs it to recognize
	// UTF-8 in CSV.
	BOM bool
	// Defuse puts an apostrophe before CSV texts that a spreadsheet would run as formulas.
	Defuse bool
	// EnumWords writes values of enumerations as words, see [EnumWords].
	EnumWords bool
	// Grades, if set, makes JSON one object with the snapshot, the grades of its source tables, and the rows.
	Grades *Grades
}

// Grades are the snapshot of a result and the grades of its source tables.
type Grades struct {
	Snapshot Snapshot
	Sources  []Source
}

// FormatOf returns the format of a file by its extension. An unknown extension is a *UsageError.
func FormatOf(file string) (Format, error) {
	extension := strings.ToLower(filepath.Ext(file))
	switch extension {
	case ".txt":
		return Table, nil
	case ".md":
		return Markdown, nil
	}
	for _, f := range []Format{CSV, JSON, JSONL, Parquet, Excel} {
		if extension == "."+string(f) {
			return f, nil
		}
	}
	return "", &UsageError{Problem: fmt.Sprintf("the extension of %q names no format: use .txt, .csv, .json, .jsonl, .md, .parquet or .xlsx, or choose a format with --format", file)}
}

// NewWriter returns a writer for a format. It returns a *UsageError for Parquet and Excel, because
// they cannot be streamed. For a terminal, control characters are escaped in all formats.
func NewWriter(o Output, w io.Writer, screen Screen) (Writer, error) {
	if o.EnumWords {
		o.EnumWords = false
		inner, err := NewWriter(o, w, screen)
		return &enumWriter{Writer: inner}, err
	}
	if screen.Terminal && o.Format != Table {
		w = &ScreenWriter{To: w}
	}
	out := bufio.NewWriter(w)
	if o.BOM {
		_, _ = out.WriteString("\ufeff") // later writes return its error
	}
	switch o.Format {
	case Table:
		screen.Rows = cmp.Or(screen.Rows, 10_000)
		return &tableWriter{out: out, screen: screen}, nil
	case Vertical:
		return &verticalWriter{out: out}, nil
	case CSV:
		return &csvWriter{out: out, defuse: o.Defuse}, nil
	case JSON:
		if o.Grades != nil {
			return newGradedJSON(out, o.Grades.Snapshot, o.Grades.Sources)
		}
		return &jsonWriter{out: out, first: "[\n", next: ",\n", end: "\n]\n", empty: "[]\n"}, nil
	case JSONL:
		return &jsonWriter{out: out, next: "\n", end: "\n"}, nil
	case Markdown:
		return &markdownWriter{out}, nil
	}
	return nil, &UsageError{Problem: fmt.Sprintf("%s needs a file: name it with -o FILE", o.Format)}
}

// LabelOf returns the heading of a column in words: the line "heading" of the header or, without one, the heading
// that follows from the name of the column.
func (q Query) LabelOf(column string) string {
	if label, ok := q.Headings[column]; ok {
		return label
	}
	return LabelOf(column)
}

// LabelOf returns the name of a column in words: p50_days becomes "Days, median", and outlet_id "Outlet ID".
func LabelOf(column string) string {
	words := strings.Split(column, "_")
	end := ""
	hasOnlyUnit := len(words) == 2 && words[1] == "percent" // then the first word is the subject
	if len(words) > 1 && !hasOnlyUnit {
		end = map[string]string{"p25": ", lower quartile", "p50": ", median", "p75": ", upper quartile", "p90": ", 90th percentile"}[words[0]]
		if end != "" || words[0] == "is" {
			words = words[1:]
		}
	}
	records := []string{"article", "campaign", "group", "listing", "outlet", "product", "profile", "status", "writer"}
	if last := len(words) - 1; last > 0 {
		switch words[last] {
		case "percent":
			words, end = words[:last], ", %"+end
		case "at":
			words = words[:last]
		case "name":
			if slices.Contains(records, words[last-1]) {
				words = words[:last]
			}
		}
	}
	for i, word := range words {
		switch word {
		case "min":
			words[i] = "minimum"
		case "max":
			words[i] = "maximum"
		case "timezone":
			words[i] = "time zone"
		case "url", "id":
			words[i] = strings.ToUpper(word)
		}
	}
	label := strings.ReplaceAll(strings.Join(words, " "), "do follow", "do-follow")
	return humanize.UpperFirst(label) + end
}

// HasWord reports whether the name of the column, such as order_status, has one of the words.
func (c Column) HasWord(words ...string) bool {
	return slices.ContainsFunc(strings.Split(c.Name, "_"), func(word string) bool { return slices.Contains(words, word) })
}

// IsEnum reports whether the column contains values of an enumeration, by its name: the service sends them as
// FULL_FEATURE or on_hold_review. A segment is the type of a placement or channel, or a country. A figure of the report can
// end with a tier.
func (c Column) IsEnum() bool {
	if c.Type != "VARCHAR" {
		return false
	}
	return c.Name == "segment" || c.Name == "figure" || c.HasWord("status", "type", "kind", "tier", "side", "trait", "includes", "included", "waits")
}

// codePattern matches FULL_FEATURE and on_hold_review.
var codePattern = regexp.MustCompile(`^([A-Z][A-Z0-9]*(_[A-Z0-9]+)*|[a-z][a-z0-9]*([_-][a-z0-9]+)*)$`)

// EnumWords returns a value of an enumeration, or a list of such values, as words: Full feature, On hold review.
// Names of channels have the spelling of their owners, and abbreviations stay in capitals. It returns other texts unchanged.
func EnumWords(text string) string {
	for _, separator := range []string{"; ", ", "} {
		if first, rest, ok := strings.Cut(text, separator); ok {
			return EnumWords(first) + separator + EnumWords(rest)
		}
	}
	const maxAbbreviation = 3 // letters, as in SEO and UK
	isAbbreviation := len(text) <= maxAbbreviation && text == strings.ToUpper(text)
	if !codePattern.MatchString(text) || isAbbreviation {
		return text
	}
	switch strings.ToUpper(text) {
	case "LINKEDIN":
		return "LinkedIn"
	case "TIKTOK":
		return "TikTok"
	case "TWITTER_X":
		return "Twitter/X"
	case "YOUTUBE":
		return "YouTube"
	}
	return strings.ToUpper(text[:1]) + strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(text[1:]))
}

// enumWriter passes values of enumerations to a Writer as words. A name that equals its id is a value of an enumeration
// too: a group of channels has the code of the type as its id and as its name.
type enumWriter struct {
	Writer
	isEnum []bool
	idOf   []int // the index of the id of a column with names, or -1
}

func (w *enumWriter) Begin(columns []Column) error {
	for _, c := range columns {
		stem, isName := strings.CutSuffix(c.Name, "_name")
		id := slices.IndexFunc(columns, func(other Column) bool { return isName && other.Name == stem+"_id" })
		w.isEnum = append(w.isEnum, c.IsEnum())
		w.idOf = append(w.idOf, id)
	}
	return w.Writer.Begin(columns)
}

func (w *enumWriter) Row(values []Value) error {
	for i := range values {
		equalsID := w.idOf[i] >= 0 && values[i].Text == values[w.idOf[i]].Text
		if (w.isEnum[i] || equalsID) && !values[i].Null {
			values[i].Text = EnumWords(values[i].Text)
		}
	}
	return w.Writer.Row(values)
}

// escapeControls escapes the characters of a text that would move the cursor of a terminal,
// start an escape sequence, or reorder or hide other text.
func escapeControls(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !isControl(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) { // as JSON writes it
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}

// isControl excepts the zero-width joiners, because emoji and some scripts need them.
func isControl(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200c, 0x200d
	return r != zeroWidthNonJoiner && r != zeroWidthJoiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// EscapeLines escapes the control characters in each line of a text, such as an error that quotes a
// value. It keeps the line feeds.
func EscapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapeControls(line)
	}
	return strings.Join(lines, "\n")
}

// WrapLines breaks lines that are longer than width, between words if possible. A width of 0
// breaks no line.
func WrapLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		rest := []rune(line)
		for len(rest) > width {
			end, next := width, width // a word longer than width is broken
			for at := width; at > 0; at-- {
				if rest[at] == ' ' {
					end, next = at, at+1
					break
				}
			}
			lines = append(lines, string(rest[:end]))
			rest = rest[next:]
		}
		lines = append(lines, string(rest))
	}
	return strings.Join(lines, "\n")
}

// ScreenWriter writes complete lines to a terminal and escapes their control characters. Lines may
// end with \n or \r\n.
type ScreenWriter struct {
	To   io.Writer
	line []byte // the beginning of a line whose end is not written yet
}

func (s *ScreenWriter) Write(p []byte) (int, error) {
	s.line = append(s.line, p...)
	complete := string(s.line[:bytes.LastIndexByte(s.line, '\n')+1])
	s.line = s.line[len(complete):]
	var shown strings.Builder
	for line := range strings.Lines(complete) {
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		shown.WriteString(escapeControls(text) + line[len(text):])
	}
	_, err := io.WriteString(s.To, shown.String())
	return len(p), err
}
