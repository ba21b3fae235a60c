package houserules_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// comparePage compares a generated page with its file. With -update, it first writes the file.
func comparePage(t *testing.T, name string, want []byte) {
	t.Helper()
	file := filepath.Join(root, name)
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s:1: the page differs from the program (%v): run make docs", name, err)
	}
}

// commandName matches a command in the list of "placementsync help".
var commandName = regexp.MustCompile(`(?m)^  ([a-z]+)  +[A-Z]`)

// TestDocs compares docs/tables.md and docs/cli.md with the output of the binary.
func TestDocs(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "placementsync")
	run(t, "go", "build", "-tags", "duckdb_arrow", "-ldflags", "-s -w", "-o", binary, module+"/cmd/sync")
	comparePage(t, "docs/tables.md", run(t, binary, "schema", "--all", "--format", "markdown"))
	var page bytes.Buffer
	page.WriteString("# Commands\n\nThis page contains the help of every command. `make docs` generates it from the program.\n")
	rootHelp := run(t, binary, "help")
	fmt.Fprintf(&page, "\n## placementsync\n\n```text\n%s```\n", rootHelp)
	for _, match := range commandName.FindAllSubmatch(rootHelp, -1) {
		if name := string(match[1]); name != "help" && name != "completion" { // cobra adds these commands
			fmt.Fprintf(&page, "\n## placementsync %s\n\n```text\n%s```\n", name, run(t, binary, "help", name))
		}
	}
	comparePage(t, "docs/cli.md", page.Bytes())
}
