package houserules_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// page is a generated file of docs. The program prints the content of the page when it runs with args.
type page struct {
	file string
	args []string
}

func pages() []page {
	return []page{
		{"docs/tables.md", []string{"schema", "--all", "--format", "markdown"}},
		{"docs/cli.md", []string{"docs", "cli"}},
		{"docs/metrics.md", []string{"docs", "metrics"}},
	}
}

// TestDocs compares the generated pages with the output of the binary.
func TestDocs(t *testing.T) {
	if _, err := os.Stat("../../../cmd/sync"); err != nil {
		t.Skip("cmd/sync does not exist")
	}
	binary := filepath.Join(t.TempDir(), "placementsync")
	run(t, "go", "build", "-tags", "duckdb_arrow", "-o", binary, module+"/cmd/sync")
	for _, p := range pages() {
		want := run(t, binary, p.args...)
		file := filepath.Join("..", "..", "..", filepath.FromSlash(p.file))
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s:1: the page differs from the output of placementsync %v (%v): run make docs", p.file, p.args, err)
		}
	}
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run %s: %v", filepath.Base(name), err)
	}
	return out
}
