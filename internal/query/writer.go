package query

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Writer takes an answer, row by row. After an error nothing more is called.
type Writer interface {
	Begin(columns []Column) error
	Row(r Row) error
	End() error
}

// isStreaming reports whether a writer writes each row at once.
func isStreaming(w Writer) bool {
	switch w.(type) {
	case *csvWriter, *jsonWriter, *markdownWriter, *verticalWriter, Streaming:
		return true
	}
	return false
}

// Streaming is a writer from elsewhere that holds no rows.
type Streaming interface {
	Writer
	IsStreaming()
}

// Format is how an answer is written.
type Format string

// The formats. Parquet needs a file, see Save.
const (
	Table    Format = "table"
	CSV      Format = "csv"
	JSON     Format = "json"
	JSONL    Format = "jsonl"
	Markdown Format = "markdown"
	Parquet  Format = "parquet"
	Vertical Format = "vertical"
)

// Formats lists all formats, for help texts.
func Formats() []Format { return []Format{Table, Vertical, CSV, JSON, JSONL, Markdown, Parquet} }

// ParseFormat reads the name of a format; another name is a *UsageError.
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

// NewWriter makes the writer of a format. Parquet is a *UsageError: it cannot
// be streamed. On a terminal, no text of an answer acts, in any format.
func NewWriter(f Format, w io.Writer, screen Screen) (Writer, error) {
	if screen.Terminal && f != Table {
		w = &screened{to: w}
	}
	out := bufio.NewWriter(w)
	switch f {
	case Table:
		return newTable(out, screen), nil
	case Vertical:
		return &verticalWriter{out: out}, nil
	case CSV:
		return &csvWriter{out: out}, nil
	case JSON:
		return &jsonWriter{out: out, first: "[\n", next: ",\n", end: "\n]\n", none: "[]\n"}, nil
	case JSONL:
		return &jsonWriter{out: out, next: "\n", end: "\n"}, nil
	case Markdown:
		return newMarkdown(out), nil
	case Parquet:
		return nil, &UsageError{Problem: "parquet needs a file: name it with -o FILE"}
	}
	return nil, &UsageError{Problem: fmt.Sprintf("unknown format %q", f)}
}

// NewSpreadsheetWriter makes a writer of CSV whose texts no program for tables runs as a
// formula: one that begins like a formula gets an apostrophe.
func NewSpreadsheetWriter(w io.Writer) Writer {
	return &csvWriter{out: bufio.NewWriter(w), defuse: true}
}
