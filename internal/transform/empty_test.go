package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// TestEmptyTextIsNULL sends an empty text for each column of each table, except texts, JSON and columns that the decoder
// computes. The column must be NULL. The text must be counted as converted, and apart from other converted values.
func TestEmptyTextIsNULL(t *testing.T) {
	tested := map[stream.Type]int{}
	for _, s := range stream.AllWithEvents() {
		for i, table := range s.Tables {
			for _, c := range definitions()[table.Name].Columns {
				isPosition := strings.HasSuffix(c.Name, "position") && slices.Contains(table.Key, c.Name)
				if c.Type == stream.Text || c.Type == stream.JSON || isPosition {
					continue
				}
				tested[c.Type]++
				for _, path := range pathsOf(c) {
					emptyText{s, i, c, path, nest(strings.Split(path, "."), `""`)}.check(t)
				}
				if c.Name == table.Value {
					emptyText{stream: s, table: i, column: c, path: c.Name}.check(t)
				}
			}
		}
	}
	for _, typ := range []stream.Type{stream.Bool, stream.Int32, stream.Int64, stream.Money, stream.Instant} {
		if tested[typ] == 0 {
			t.Errorf("no column of type %s was tested", typ)
		}
	}
}

// pathsOf returns the dotted paths of the fields that fill a column: its path in the spec and, if this path is that of
// the column, its name.
func pathsOf(c stream.Column) []string {
	path := c.Path()
	if path == "" || path == c.Name {
		return []string{c.Name}
	}
	if strings.ReplaceAll(path, ".", "_") == c.Name {
		return []string{path, c.Name}
	}
	return []string{path} // do_follow_links_allowed fills several columns
}

// emptyText is an empty text in a record. If member is empty, the item of the list is the text itself.
type emptyText struct {
	stream stream.Stream
	table  int // index in stream.Tables
	column stream.Column
	path   string
	member string
}

func (e emptyText) check(t *testing.T) {
	t.Helper()
	item := `""`
	if e.member != "" {
		item = objectOf(e.stream, e.table, e.member)
	}
	body := recordAround(e.stream, e.table, item)
	table := e.stream.Tables[e.table].Name
	d := compile(t, e.stream).NewDecoder()
	if _, err := d.Decode([]byte(body), transform.Origin{Param: "param"}); err != nil {
		t.Errorf("%s.%s: %s: %v", table, e.column.Name, body, err)
		return
	}
	var drift []string
	findings := d.Findings()
	for _, f := range findings.Drift {
		drift = append(drift, fmt.Sprintf("%s.%s %s x%d", f.Table, f.Path, f.Kind, f.Count))
	}
	want := []string{fmt.Sprintf("%s.%s converted x1", table, e.path), fmt.Sprintf("%s.%s= converted x1", table, e.path)}
	if diff := cmp.Diff(want, drift); diff != "" || len(findings.Rejects) > 0 {
		t.Errorf("%s.%s: %s: rejects %+v, and other drift (-want +got):\n%s", table, e.column.Name, body, findings.Rejects, diff)
	}
	rows := rowsOf(t, d.Flush())[table]
	hasRow := slices.ContainsFunc(rows, func(r row) bool { return r[e.column.Name] == "" })
	if !hasRow {
		t.Errorf("%s.%s: %s: the rows are %v, want one with NULL", table, e.column.Name, body, rows)
	}
}

// objectOf returns an object with a member and the keys of a table.
func objectOf(s stream.Stream, table int, member string) string {
	members := []string{member}
	for _, k := range s.Tables[table].Key {
		value := "k"
		if k == s.Param && table == 0 {
			value = "param"
		}
		if k != "position" && !slices.Contains(s.Tables[table].Parents, k) && !strings.HasPrefix(member, `"`+k+`"`) {
			members = append(members, fmt.Sprintf("%q:%q", k, value))
		}
	}
	if table == 0 {
		for _, name := range s.RequireOne {
			members = append(members, fmt.Sprintf("%q:%q", name, "custom"))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// recordAround returns a body with one record that contains an item of a table.
func recordAround(s stream.Stream, table int, item string) string {
	t := s.Tables[table]
	switch {
	case table == 0 && s.Envelope == stream.Object:
		return item
	case table == 0:
		return "[" + item + "]"
	}
	up := s.EnclosingTable(t)
	path := strings.TrimPrefix(strings.TrimPrefix(t.At, s.Tables[up].At), ".")
	return recordAround(s, up, objectOf(s, up, nest(strings.Split(path, "."), "["+item+"]")))
}
