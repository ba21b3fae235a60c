package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestManualIsCurrent holds what the manual page says by itself to the code: variables,
// folders of the warehouse, and commands with their flags.
func TestManualIsCurrent(t *testing.T) {
	t.Parallel()
	m := manual()
	var variables strings.Builder
	for _, v := range m.Environment {
		variables.WriteString(v.Name + ", ")
	}
	for _, file := range []string{"serve.go", "prune.go", "run.go", "process.go"} {
		for _, found := range regexp.MustCompile(`ookupEnv\("([A-Z_]+)"\)`).FindAllStringSubmatch(read(t, file), -1) {
			if !strings.Contains(variables.String(), found[1]+",") {
				t.Errorf("%s reads %s, of which the manual page says nothing", file, found[1])
			}
		}
	}
	layout, err := filepath.Glob("../../internal/warehouse/*.go")
	fatal(t, err)
	var code strings.Builder
	for _, file := range layout {
		code.WriteString(read(t, file))
	}
	for _, f := range m.Files {
		if folder, ok := strings.CutSuffix(f.Name, "/"); ok && !strings.Contains(code.String(), `"`+folder+`"`) {
			t.Errorf("the manual page names %s, which the warehouse does not", f.Name)
		}
	}
	for _, e := range m.Examples {
		_, line, _ := strings.Cut(e.Name, "placementsync ")
		line = strings.TrimPrefix(line, "-- placementsync ")
		cmd, rest, err := newRoot(&globals{}).Find(strings.Fields(line))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd.Parent() == nil {
			t.Errorf("the manual page shows %q: %v", e.Name, err)
		}
	}
}

// TestManualIsFormatted has man read the page, where it is there.
func TestManualIsFormatted(t *testing.T) {
	t.Parallel()
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("there is no man")
	}
	var page, shown, warnings bytes.Buffer
	g := &globals{process: process{stdout: &page}}
	root := newRoot(g)
	root.SetArgs([]string{"docs", "man"})
	fatal(t, root.ExecuteContext(t.Context()))
	cmd := exec.CommandContext(t.Context(), man, "--warnings", "-E", "UTF-8", "-l", "-")
	cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &page, &shown, &warnings
	fatal(t, cmd.Run())
	if warnings.Len() > 0 {
		t.Errorf("man warns:\n%s", &warnings)
	}
	for _, title := range []string{"NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"} {
		if !strings.Contains(shown.String(), "\n"+title+"\n") {
			t.Errorf("the page has no section %s", title)
		}
	}
	if strings.Contains(shown.String(), "‐\n") {
		t.Error("the page has words that are hyphenated")
	}
	for _, whole := range []string{"placementsync init --base-url https://api.example.com --token-file\n", "  3      damaged, and all of it can be rebuilt\n"} {
		if !strings.Contains(shown.String(), whole) {
			t.Errorf("the page does not show %q", whole)
		}
	}
}
