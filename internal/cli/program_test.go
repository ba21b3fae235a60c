package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

// TestStoppedCommandNamesTheSignal stops a command whose error says only that its context ended.
func TestStoppedCommandNamesTheSignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var f cli.Flags
	root := &cobra.Command{Use: "program"}
	f.AddTo(root)
	root.AddCommand(&cobra.Command{Use: "work", RunE: func(*cobra.Command, []string) error {
		cancel(errors.New("stopped by an interrupt (SIGINT)"))
		return fmt.Errorf("run query: %w", ctx.Err())
	}})
	var stderr bytes.Buffer
	code := f.Execute(ctx, root, []string{"work"}, io.Discard, &stderr)
	if want := "program: run query: stopped by an interrupt (SIGINT)\n"; code != 130 || stderr.String() != want {
		t.Errorf("the exit code is %d and stderr %q, want 130 and %q", code, &stderr, want)
	}
}

// TestExecutePrintsErrors checks the text of errors on stderr, and that control characters
// in a quoted response do not reach the terminal.
func TestExecutePrintsErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"failed work":          {[]string{"work"}, 1, []string{`program: the service answered \x1b]0;title\x07` + "\n" + `\u202etxt.exe` + "\n"}},
		"failed work, as JSON": {[]string{"work", "--log-format", "json"}, 1, []string{`"msg":"command failed","command":"work","exit_code":1,"error":"the service answered \u001b]0;`}},
		"usage error":          {[]string{"misuse"}, 2, []string{"program: name a table\n"}},
		"unknown flag":         {[]string{"work", "--\x1b[2J"}, 2, []string{"program: unknown flag: ", "\nsee program work --help\n"}},
		"invalid number": {[]string{"work", "--count", "x"}, 2,
			[]string{`program: --count is "x": use a whole number` + "\nsee program work --help\n"}},
		"invalid duration": {[]string{"work", "--pause", "5"}, 2,
			[]string{`program: --pause is "5": use a duration such as 30s or 5m` + "\nsee"}},
		"invalid size": {[]string{"work", "--size", "-1"}, 2,
			[]string{`program: --size is "-1": use a whole number, 0 or more` + "\nsee"}},
		"invalid switch": {[]string{"work", "--quiet=x"}, 2, []string{`program: --quiet is "x": use true or false` + "\nsee"}},
		"surplus argument": {[]string{"version", "x"}, 2,
			[]string{`program: version takes no arguments and got "x"` + "\nsee program version --help\n"}},
		"misspelt flag":           {[]string{"work", "--quit"}, 2, []string{"program: unknown flag: --quit: did you mean --quiet?\nsee"}},
		"unlike any flag":         {[]string{"work", "--qqqqqqqq"}, 2, []string{"program: unknown flag: --qqqqqqqq\nsee"}},
		"a full disk":             {[]string{"full"}, 1, []string{"program: no space left on device: the disk is full or the quota is used up: free some space\n"}},
		"wrong usage, as JSON":    {[]string{"work", "--log-format", "json", "--nosuch"}, 2, []string{"program: unknown flag: --nosuch\nsee"}},
		"manual without a folder": {[]string{"docs", "man"}, 2, []string{"program: accepts 1 arg(s), received 0\nsee"}},
		"truncated flag":          {[]string{"work", "--log"}, 2, []string{"program: unknown flag: --log: did you mean --log-format?\nsee"}},
		"misspelt hidden flag":    {[]string{"work", "--hiden"}, 2, []string{"program: unknown flag: --hiden\nsee"}},
		"short flag":              {[]string{"work", "-x"}, 2, []string{"program: unknown shorthand flag: 'x' in -x\nsee"}},
		"misspelt command":        {[]string{"misuze"}, 2, []string{`program: unknown command "misuze" for "program": did you mean misuse?` + "\nsee"}},
		"help on a misspelt command": {[]string{"help", "misuze"}, 2,
			[]string{`program: unknown command "misuze" for "program": did you mean misuse?` + "\nsee program --help\n"}},
		"help on an unknown command":    {[]string{"help", "nosuch"}, 2, []string{`program: unknown command "nosuch" for "program"` + "\nsee"}},
		"help on an unknown subcommand": {[]string{"help", "version", "nosuch"}, 2, []string{`program: unknown command "nosuch" for "program version"` + "\nsee"}},
		"unknown version format":        {[]string{"version", "--format", "xml"}, 2, []string{`program: --format is "xml": use text or json` + "\n"}},
		"misspelt shell":                {[]string{"completion", "bahs"}, 2, []string{`program: unknown command "bahs" for "program completion": did you mean bash?` + "\nsee"}},
		"unsupported shell":             {[]string{"completion", "tcsh"}, 2, []string{`program: unknown command "tcsh" for "program completion": did you mean bash or fish or zsh?` + "\nsee"}},
		"unknown shell":                 {[]string{"completion", "nosuch"}, 2, []string{`program: unknown command "nosuch" for "program completion": use one of bash, fish, powershell, zsh` + "\nsee"}},
		"misspelt subcommand":           {[]string{"docs", "mann"}, 2, []string{`program: unknown command "mann" for "program docs": did you mean man?` + "\nsee"}},
		"outcome without error":         {[]string{"silent"}, 3, nil},
		"conflicting flags":             {[]string{"work", "--quiet", "--verbose"}, 2, []string{"program: --quiet and --verbose exclude each other: use one of them\n"}},
		"unknown log format": {[]string{"work", "--log-format", "xml"}, 2,
			[]string{`program: --log-format is "xml": use text or json` + "\nsee program work --help\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var f cli.Flags
			root := &cobra.Command{Use: "program"}
			f.AddTo(root)
			cli.AddVersion(root, "1.0.0", "")
			cli.AddManual(root, cli.Manual{})
			for name, err := range map[string]error{"work": errors.New("the service answered \x1b]0;title\x07\n\u202etxt.exe"),
				"misuse": cli.UsageErr("name a %s", "table"), "silent": cli.EndWith(ledger.Partial, nil), "full": syscall.ENOSPC} {
				cmd := &cobra.Command{Use: name, RunE: func(*cobra.Command, []string) error { return err }}
				cmd.Flags().Int("count", 0, "")
				cmd.Flags().Duration("pause", 0, "")
				cmd.Flags().Uint64("size", 0, "")
				cmd.Flags().Bool("hidden", false, "")
				harness.Must(t, cmd.Flags().MarkHidden("hidden"))
				root.AddCommand(cmd)
			}
			var stdout, stderr bytes.Buffer
			if code := f.Execute(t.Context(), root, c.args, &stdout, &stderr); code != c.code || stdout.Len() > 0 {
				t.Errorf("the exit code is %d and stdout %q, want %d and an empty stdout", code, &stdout, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr is %q, want it to contain %q", &stderr, want)
				}
			}
			if text := stderr.String(); strings.Contains(text, "Usage:") || strings.Contains(text, "Error:") {
				t.Errorf("stderr is %q, want the error once, without the usage", text)
			}
			if strings.ContainsAny(stderr.String(), "\x1b\a") || c.want == nil && stderr.Len() > 0 {
				t.Errorf("stderr is %q, want no control characters, and no text for an outcome without an error", &stderr)
			}
		})
	}
}
