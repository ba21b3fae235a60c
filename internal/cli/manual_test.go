package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
)

// newProgram returns a program with one command in a group and one without.
func newProgram(f *cli.Flags) *cobra.Command {
	root := &cobra.Command{Use: "program", Short: "Do things"}
	f.AddTo(root)
	none := func(*cobra.Command, []string) error { return nil }
	meanings := cli.Meanings{Complete: "done", Failed: "not done", Partial: "half done", Locked: "busy"}
	cli.AddGroup(root, "Daily work", &cobra.Command{Use: "work", Short: "Work on * and _", RunE: none,
		Long: "Work on a <thing>.\n\n  program work [one]\n  program work _two_\n\nAfter the block.\n\n" + meanings.Table()})
	root.AddCommand(&cobra.Command{Use: "rare", Short: "Do a rare thing", RunE: none})
	cli.AddManual(root, cli.Manual{Version: "1.0.0", Environment: cli.Environment(),
		Files: []cli.ManualEntry{{Name: "config.yaml", Meaning: "The configuration."}}, Examples: []cli.ManualEntry{{Name: "program work", Meaning: "Works."}}})
	return root
}

func execute(t *testing.T, args ...string) string {
	t.Helper()
	var f cli.Flags
	var stdout, stderr bytes.Buffer
	if code := f.Execute(t.Context(), newProgram(&f), args, &stdout, &stderr); code != 0 {
		t.Fatalf("%q ended with the code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

// TestHelpListsGroups checks that commands of a group are described, and all others only named.
func TestHelpListsGroups(t *testing.T) {
	text := execute(t, "--help")
	for _, want := range []string{"Daily work:\n  work ", "Work on * and _\n", "More:\n  completion rare\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Do a rare thing") || strings.Contains(text, "docs") {
		t.Errorf("the help describes a command without a group, or lists a hidden one:\n%s", text)
	}
	want := "Exit codes:\n  0    done\n  1    not done\n  2    wrong usage or configuration, or an unknown name\n" +
		"  3    half done\n  4    busy\n  130  interrupted"
	if help := execute(t, "work", "--help"); !strings.Contains(help, want) {
		t.Errorf("the help of a command lacks %q:\n%s", want, help)
	}
}

// TestFlagsOfEveryCommand executes a command with the flags that all commands have, and the
// command docs without a subcommand.
func TestFlagsOfEveryCommand(t *testing.T) {
	var f cli.Flags
	var stdout, stderr bytes.Buffer
	code := f.Execute(t.Context(), newProgram(&f), []string{"rare", "--config", "other.yaml", "--quiet"}, &stdout, &stderr)
	if code != 0 || f.Config != "other.yaml" || !f.Quiet {
		t.Errorf("the command ended with %d and the flags %+v, want 0, other.yaml and quiet: %s", code, f, &stderr)
	}
	f = cli.Flags{}
	if code := f.Execute(t.Context(), newProgram(&f), []string{"rare"}, &stdout, &stderr); code != 0 ||
		f.Config != "config.yaml" || f.LogFormat != "text" {
		t.Errorf("without flags, the command ended with %d and the flags %+v, want config.yaml and text", code, f)
	}
	if help := execute(t, "docs"); !strings.Contains(help, "Write the manual pages into a folder") {
		t.Errorf("docs without a subcommand printed %q, want its help", help)
	}
	if help := execute(t, "completion", "--help"); !strings.Contains(help, "program completion bash|zsh|fish|powershell\n") {
		t.Errorf("the help of completion is %q, want the names of the shells", help)
	}
}

func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	execute(t, "docs", "man", dir)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		harness.Must(t, err)
		return string(text)
	}
	page, work := read("program.1"), read("program-work.1")
	if rare := read("program-rare.1"); !strings.Contains(rare, ".SH DESCRIPTION\nDo a rare thing") || strings.Contains(rare, "EXIT STATUS") {
		t.Errorf("the page of a command without a long help and exit codes is\n%s", rare)
	}
	for _, want := range []string{"\n.nr HY 0\n.nh\n.ad l\n.SH NAME\n", `"program 1.0.0"`, "ENVIRONMENT", "NAME_FILE", "AWS_ACCESS_KEY_ID", "HTTPS_PROXY", "TMPDIR",
		"FILES", "config.yaml", "EXAMPLES", "Works."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the program lacks %q:\n%s", want, page)
		}
	}
	for _, want := range []string{"Work on a <thing>.", "EXIT STATUS", "not done", ".EX\n  program work [one]\n  program work _two_\n\n.EE\n"} {
		if !strings.Contains(work, want) {
			t.Errorf("the page of the command lacks %q:\n%s", want, work)
		}
	}
	if strings.Contains(work, "Exit codes:") || strings.Contains(page, "Auto generated") {
		t.Errorf("the pages contain the heading of the help, or the date of the build:\n%s\n%s", page, work)
	}
	if pages, _ := filepath.Glob(filepath.Join(dir, "*completion*")); len(pages) > 0 {
		t.Errorf("the manual has the pages %q, want none about shells", pages)
	}
}
