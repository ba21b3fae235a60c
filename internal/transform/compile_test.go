package transform_test

import (
	"strings"
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

func TestAllStreamsCompile(t *testing.T) {
	for _, s := range stream.All() {
		tables := compile(t, s).Tables()
		for i, table := range tables {
			def := definitions()[table.Name]
			fields := table.Schema.Fields()
			if table.Name != s.Tables[i].Name || len(fields) != len(def.Columns)+2 {
				t.Fatalf("%s: table %d is %s with %d columns, want %s with %d", s.Name, i, table.Name, len(fields), s.Tables[i].Name, len(def.Columns)+2)
			}
			for n, c := range def.Columns {
				if fields[n].Name != c.Name {
					t.Errorf("%s: column %d is %s, want %s", table.Name, n, fields[n].Name, c.Name)
				}
			}
			if fields[len(fields)-2].Name != stream.RowHash || fields[len(fields)-1].Name != stream.Seq {
				t.Errorf("%s: the last columns are %v, want row_hash and seq", table.Name, fields[len(fields)-2:])
			}
		}
	}
}

func TestCompileErrors(t *testing.T) {
	root := stream.Table{Name: "r", Key: []string{"id"}}
	child := stream.Table{Name: "c", At: "cs", Key: []string{"r_id", "position"}, Parents: []string{"r_id"}}
	for want, c := range map[string]struct {
		stream stream.Stream
		root   string // columns of table r
		child  string // columns of tables c and d
	}{
		`no definition of table "r"`:  {stream: stream.Stream{Tables: []stream.Table{root}}},
		`Key names the column "id"`:   {stream: stream.Stream{Tables: []stream.Table{root}}, root: "a"},
		`Param names the column "p"`:  {stream: stream.Stream{Param: "p", Tables: []stream.Table{root}}, root: "id"},
		`Key names the column "r_id"`: {stream: stream.Stream{Tables: []stream.Table{root, child}}, root: "id", child: "position:BIGINT"},
		`has another type`:            {stream: stream.Stream{Tables: []stream.Table{root, child}}, root: "id", child: "r_id:BIGINT position:BIGINT"},
		`does not support`:            {stream: stream.Stream{Tables: []stream.Table{root}}, root: "id a:DOUBLE"},
		`must be JSON`:                {stream: stream.Stream{Tables: []stream.Table{root}}, root: "id extra"},
		`is reserved for the decoder`: {stream: stream.Stream{Tables: []stream.Table{root}}, root: "id seq"},
		`it has no tables`:            {},
		`Value names the column "v"`:  {stream: stream.Stream{Tables: []stream.Table{{Name: "r", Value: "v"}}}, root: "id"},
		`Const names the column "k"`:  {stream: stream.Stream{Tables: []stream.Table{{Name: "r", Const: map[string]string{"k": ""}}}}, root: "id"},
		`names 0 parent columns`:      {stream: stream.Stream{Tables: []stream.Table{root, {Name: "c", At: "cs"}}}, root: "id", child: "a"},
		`define it after "d"`: {stream: stream.Stream{Tables: []stream.Table{root,
			{Name: "c", At: "ds.cs", Parents: []string{"id"}}, {Name: "d", At: "ds"}}}, root: "id", child: "id"},
	} {
		defs := map[string]stream.Definition{}
		if c.root != "" {
			defs["r"] = parseDefinition("r", c.root)
		}
		if c.child != "" {
			defs["c"], defs["d"] = parseDefinition("c", c.child), parseDefinition("d", c.child)
		}
		if _, err := transform.Compile(c.stream, defs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
