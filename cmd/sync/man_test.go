package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
)

// TestManualIsCurrent compares the manual pages with the code: environment variables, folders
// of the warehouse, and the commands of the examples with their flags.
func TestManualIsCurrent(t *testing.T) {
	t.Parallel()
	m := manual()
	var variables strings.Builder
	for _, v := range m.Environment {
		variables.WriteString(v.Name + ", ")
	}
	programFiles, err := filepath.Glob("*.go")
	harness.Must(t, err)
	for _, file := range programFiles {
		for _, match := range regexp.MustCompile(`ookupEnv\("([A-Z_]+)"\)`).FindAllStringSubmatch(read(t, file), -1) {
			if !strings.Contains(variables.String(), match[1]+",") {
				t.Errorf("%s reads %s, which is not in the manual page", file, match[1])
			}
		}
	}
	warehouseFiles, err := filepath.Glob("../../internal/warehouse/*.go")
	harness.Must(t, err)
	var code strings.Builder
	for _, file := range warehouseFiles {
		code.WriteString(read(t, file))
	}
	for _, f := range m.Files {
		if folder, ok := strings.CutSuffix(f.Name, "/"); ok && !strings.Contains(code.String(), `"`+folder+`"`) {
			t.Errorf("the manual page names %s, which is not in the warehouse", f.Name)
		}
	}
	for _, e := range m.Examples {
		_, line, _ := strings.Cut(e.Name, "placementsync ")
		// In "runuser -u placementsync -- placementsync verify", the first match is the name of the user.
		line = strings.TrimPrefix(line, "-- placementsync ")
		cmd, rest, err := newRoot(&globals{}).Find(strings.Fields(line))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd.Parent() == nil {
			t.Errorf("the manual page shows %q, which is not a valid command: %v", e.Name, err)
		}
	}
}

// TestManualIsFormatted formats every page with man.
func TestManualIsFormatted(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not installed")
	}
	dir := t.TempDir()
	root := newRoot(&globals{})
	root.SetArgs([]string{"docs", "man", dir})
	harness.Must(t, root.ExecuteContext(t.Context()))
	formatted := map[string]string{}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	harness.Must(t, err)
	for _, page := range pages {
		var text, warnings bytes.Buffer
		cmd := exec.CommandContext(t.Context(), man, "--warnings", "-E", "UTF-8", "-l", page)
		cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80")
		cmd.Stdout, cmd.Stderr = &text, &warnings
		harness.Must(t, cmd.Run())
		if warnings.Len() > 0 {
			t.Errorf("man warns of %s:\n%s", filepath.Base(page), &warnings)
		}
		if strings.Contains(text.String(), "‐\n") {
			t.Errorf("%s contains hyphenated words", filepath.Base(page))
		}
		formatted[filepath.Base(page)] = text.String()
	}
	for page, parts := range map[string][]string{
		"placementsync.1": {"\nNAME\n", "\nSYNOPSIS\n", "\nEXIT STATUS\n", "\nENVIRONMENT\n", "\nFILES\n", "\nEXAMPLES\n",
			"placementsync init --base-url https://api.example.com --token-file", "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY", "${NAME}"},
		"placementsync-verify.1": {"\nEXIT STATUS\n", "  3    damaged, and all damage can be repaired\n", "--read-data"},
	} {
		for _, part := range parts {
			if !strings.Contains(formatted[page], part) {
				t.Errorf("%s does not show %q:\n%s", page, part, formatted[page])
			}
		}
	}
}
