package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"placementsync/internal/testing/harness"
)

// replaceVersions replaces the versions in a page that come from the dependencies and the schema. Those of the
// program and of Go differ between builds.
func replaceVersions(page, versions string) string {
	for _, name := range []string{"duckdb", "arrow", "storage", "format", "schema"} {
		line := regexp.MustCompile(`(?m)^` + name + ` +\S+$`)
		page = line.ReplaceAllString(page, line.FindString(versions))
	}
	return page
}

// TestDocs compares docs/tables.md, docs/cli.md and the versions in docs/install.md with the output of the program, and docs/alarms.md with the alert
// rules. With -update, it writes them.
func TestDocs(t *testing.T) {
	harness.Slow(t)
	outputOf := func(args ...string) []byte {
		t.Helper()
		var out bytes.Buffer
		p := hostProcess()
		p.stdout, p.stderr = &out, io.Discard
		if code := executeArgs(t.Context(), args, p); code != 0 {
			t.Fatalf("%q ended with %d", args, code)
		}
		return out.Bytes()
	}
	var commands bytes.Buffer
	commands.WriteString("# Commands\n\nFor users of the command line: the help of every command. `make docs` writes this page.\n")
	fmt.Fprintf(&commands, "\n## placementsync\n\n```text\n%s```\n", outputOf("help"))
	for _, cmd := range newRoot(&globals{}).Commands() {
		if name := cmd.Name(); cmd.IsAvailableCommand() {
			fmt.Fprintf(&commands, "\n## placementsync %s\n\n```text\n%s```\n", name, outputOf("help", name))
		}
	}
	installPage := replaceVersions(read(t, "../../docs/install.md"), string(outputOf("version")))
	for name, want := range map[string][]byte{
		"install.md": []byte(installPage),
		"tables.md":  outputOf("schema", "--all", "--format", "markdown"),
		"cli.md":     commands.Bytes(),
		"alarms.md":  []byte(alarmsPage(t)),
	} {
		file := filepath.Join("../../docs", name)
		if *update {
			harness.Must(t, os.WriteFile(file, want, 0o644))
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s:1: the page differs from the generated one (%v): run make docs", name, err)
		}
	}
}
