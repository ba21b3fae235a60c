package transform_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

var update = flag.Bool("update", false, "rewrite the .want files")

// TestBodies decodes testdata/<stream>/<case>.json and compares the rendered result with
// the .want file beside it.
func TestBodies(t *testing.T) {
	bodies, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(bodies) == 0 {
		t.Fatalf("find bodies: %v, %d found", err, len(bodies))
	}
	for _, path := range bodies {
		name := filepath.Base(filepath.Dir(path))
		t.Run(strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := decoderOf(t, name)
			page, err := d.Decode(body, transform.Origin{Seq: 1, Param: paramOf(t, name, body)})
			compareFile(t, strings.TrimSuffix(path, ".json")+".want", render(t, d, page, err))
		})
	}
}

// paramOf returns the path parameter for a body: the id of a single record, or "param".
func paramOf(t *testing.T, name string, body []byte) string {
	t.Helper()
	match := regexp.MustCompile(`^\s*\{"id":\s*"([^"]+)"`).FindSubmatch(body)
	if s := streamNamed(t, name); s.Envelope == stream.Object && s.Param != "" && match != nil {
		return string(match[1])
	}
	return "param"
}

func compareFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// TestEveryTableHasACase requires a test body for each table.
func TestEveryTableHasACase(t *testing.T) {
	for _, s := range stream.AllWithEvents() {
		wants, err := filepath.Glob(filepath.Join("testdata", s.Name, "*.want"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, w := range wants {
			text, err := os.ReadFile(w)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		for _, table := range s.Tables {
			if !strings.Contains(all.String(), "\n"+table.Name+" (") {
				t.Errorf("stream %s: no body under testdata fills table %s", s.Name, table.Name)
			}
		}
	}
}
