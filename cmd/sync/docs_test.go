package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// commandName matches a command in the list of "placementsync help".
var commandName = regexp.MustCompile(`(?m)^  ([a-z]+)  +[A-Z]`)

// TestDocs compares docs/tables.md and docs/cli.md with the output of the program, and docs/alarms.md with the alert
// rules. With -update, it writes them.
func TestDocs(t *testing.T) {
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
	rootHelp := outputOf("help")
	fmt.Fprintf(&commands, "\n## placementsync\n\n```text\n%s```\n", rootHelp)
	for _, match := range commandName.FindAllSubmatch(rootHelp, -1) {
		if name := string(match[1]); name != "help" && name != "completion" { // cobra adds these commands
			fmt.Fprintf(&commands, "\n## placementsync %s\n\n```text\n%s```\n", name, outputOf("help", name))
		}
	}
	for name, want := range map[string][]byte{
		"tables.md": outputOf("schema", "--all", "--format", "markdown"),
		"cli.md":    commands.Bytes(),
		"alarms.md": []byte(alarmsPage(t)),
	} {
		file := filepath.Join("../../docs", name)
		if *update {
			must(t, os.WriteFile(file, want, 0o644))
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s:1: the page differs from the generated one (%v): run make docs", name, err)
		}
	}
}
