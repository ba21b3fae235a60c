package query

import (
	"bufio"
	"encoding/json"
	"fmt"
)

// newGradedJSON returns a writer of one object, see Output.Grades.
func newGradedJSON(out *bufio.Writer, snapshot Snapshot, sources []Source) (Writer, error) {
	if sources == nil {
		sources = []Source{}
	}
	snapshotJSON, err := json.Marshal(snapshot)
	if err != nil {
		return nil, err
	}
	gradesJSON, err := json.Marshal(sources)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("{\"snapshot\":%s,\n\"grades\":%s,\n\"rows\":[", snapshotJSON, gradesJSON)
	return &jsonWriter{out: out, first: head + "\n", next: ",\n", end: "\n]}\n", empty: head + "]}\n"}, nil
}

// jsonWriter writes one object per row. The objects form an array, or each is on its own line.
type jsonWriter struct {
	out *bufio.Writer
	// first is written before the first row, next before each later row, and end after the last
	// row. If there are no rows, only empty is written.
	first, next, end, empty string

	columns []Column
	names   [][]byte
	rows    int64
}

func (w *jsonWriter) Begin(columns []Column) error {
	w.columns = columns
	for _, name := range uniqueNames(columns) {
		w.names = append(w.names, append(appendQuoted(nil, []byte(name)), ':'))
	}
	return nil
}

// uniqueNames appends numbers to repeated column names, because the names in a JSON object must be
// unique. CREATE TABLE AS in DuckDB does the same.
func uniqueNames(columns []Column) []string {
	names := make([]string, len(columns))
	taken := map[string]bool{}
	for i, c := range columns {
		name := c.Name
		for n := 1; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", c.Name, n)
		}
		names[i], taken[name] = name, true
	}
	return names
}

func (w *jsonWriter) Row(values []Value) error {
	separator := w.next
	if w.rows == 0 {
		separator = w.first
	}
	w.rows++
	line := append(append(w.out.AvailableBuffer(), separator...), '{')
	for i, name := range w.names {
		if i > 0 {
			line = append(line, ',')
		}
		line = w.columns[i].AppendJSON(append(line, name...), values[i])
	}
	_, err := w.out.Write(append(line, '}'))
	return err
}

func (w *jsonWriter) End() error {
	end := w.end
	if w.rows == 0 {
		end = w.empty
	}
	if _, err := w.out.WriteString(end); err != nil {
		return err
	}
	return w.out.Flush()
}
