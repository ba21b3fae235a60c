package houserules_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// TestDocs compares docs/tables.md and docs/cli.md with the output of the binary.
func TestDocs(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "placementsync")
	run(t, "go", "build", "-tags", "duckdb_arrow", "-o", binary, module+"/cmd/sync")
	for name, want := range map[string][]byte{
		"docs/tables.md": run(t, binary, "schema", "--all", "--format", "markdown"),
		"docs/cli.md":    helpPage(t, binary),
	} {
		file := filepath.Join("..", "..", "..", filepath.FromSlash(name))
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s:1: the page differs from the output of placementsync (%v): run make docs", name, err)
		}
	}
}

// commandName matches a command in the list of "placementsync help".
var commandName = regexp.MustCompile(`(?m)^  ([a-z]+)  +[A-Z]`)

// helpPage returns the help of all commands as Markdown.
func helpPage(t *testing.T, binary string) []byte {
	t.Helper()
	var page bytes.Buffer
	page.WriteString("# Commands\n\nThis page contains the help of every command. `make docs` generates it from the program.\n")
	rootHelp := run(t, binary, "help")
	fmt.Fprintf(&page, "\n## placementsync\n\n```text\n%s```\n", rootHelp)
	for _, match := range commandName.FindAllSubmatch(rootHelp, -1) {
		if name := string(match[1]); name != "help" && name != "completion" { // cobra adds these commands
			fmt.Fprintf(&page, "\n## placementsync %s\n\n```text\n%s```\n", name, run(t, binary, "help", name))
		}
	}
	return page.Bytes()
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
