package query

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
