package command_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
)

// TestErrorsOfAProgram holds what stderr has of an error, in each format of the log, and
// that nothing which a service or a catalog answered acts on the terminal.
func TestErrorsOfAProgram(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"work":             {[]string{"work"}, 1, []string{`program: it answered \x1b]0;title\x07` + "\n" + `\u202etxt.exe` + "\n"}},
		"work, as JSON":    {[]string{"work", "--log-format", "json"}, 1, []string{`"msg":"command failed","command":"work","exit_code":1,"error":"it answered \u001b]0;`}},
		"a wrong use":      {[]string{"misuse"}, 2, []string{"program: name a table\n"}},
		"an unknown flag":  {[]string{"work", "--\x1b[2J"}, 2, []string{"program: unknown flag: ", "\nsee program --help\n"}},
		"a misspelt flag":  {[]string{"work", "--quit"}, 2, []string{"program: unknown flag: --quit: did you mean --quiet?\nsee"}},
		"part of a flag":   {[]string{"work", "--log"}, 2, []string{"program: unknown flag: --log: did you mean --log-format?\nsee"}},
		"a letter":         {[]string{"work", "-x"}, 2, []string{"program: unknown shorthand flag: 'x' in -x\nsee"}},
		"a command":        {[]string{"misuze"}, 2, []string{`program: unknown command "misuze" for "program": did you mean misuse?` + "\nsee"}},
		"help on it":       {[]string{"help", "misuze"}, 2, []string{`program: unknown command "misuze" for "program": did you mean misuse?` + "\nsee"}},
		"help on no other": {[]string{"help", "nosuch"}, 2, []string{`program: unknown command "nosuch" for "program"` + "\nsee"}},
		"help too far":     {[]string{"help", "version", "nosuch"}, 2, []string{`program: unknown command "nosuch" for "program version"` + "\nsee"}},
		"a version as xml": {[]string{"version", "--format", "xml"}, 2, []string{`program: --format is "xml": use text or json` + "\n"}},
		"a shell":          {[]string{"completion", "bahs"}, 2, []string{`program: unknown command "bahs" for "program completion": did you mean bash?` + "\nsee"}},
		"another shell":    {[]string{"completion", "tcsh"}, 2, []string{`program: unknown command "tcsh" for "program completion": did you mean bash or fish or zsh?` + "\nsee"}},
		"no shell at all":  {[]string{"completion", "nosuch"}, 2, []string{`program: unknown command "nosuch" for "program completion": use one of bash, fish, powershell, zsh` + "\nsee"}},
		"a page":           {[]string{"docs", "mann"}, 2, []string{`program: unknown command "mann" for "program docs": did you mean man?` + "\nsee"}},
		"a silent outcome": {[]string{"silent"}, 3, nil},
		"two ways to log":  {[]string{"work", "--quiet", "--verbose"}, 2, []string{"program: --quiet and --verbose exclude each other\n"}},
		"a wrong format":   {[]string{"work", "--log-format", "xml"}, 2, []string{`program: --log-format is "xml": use text or json` + "\nsee program --help\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var f command.Flags
			root := &cobra.Command{Use: "program", PersistentPreRunE: func(*cobra.Command, []string) error { return f.Check() }}
			f.AddTo(root)
			command.AddVersion(root, "1.0.0", "")
			docs := &cobra.Command{Use: "docs", Hidden: true}
			docs.AddCommand(command.ManualCommand(command.Manual{}))
			root.AddCommand(docs)
			for name, err := range map[string]error{"work": errors.New("it answered \x1b]0;title\x07\n\u202etxt.exe"),
				"misuse": command.UsageErr("name a %s", "table"), "silent": command.EndWith("partial", nil)} {
				root.AddCommand(&cobra.Command{Use: name, RunE: command.MarkWork(func(*cobra.Command, []string) error { return err })})
			}
			var out, problems bytes.Buffer
			if code := f.Execute(t.Context(), root, c.args, &out, &problems); code != c.code || out.Len() > 0 {
				t.Errorf("ended with %d and %q, want %d and nothing", code, &out, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(problems.String(), want) {
					t.Errorf("stderr is %q, want %q", &problems, want)
				}
			}
			if strings.ContainsAny(problems.String(), "\x1b\a") || c.want == nil && problems.Len() > 0 {
				t.Errorf("stderr is %q", &problems)
			}
		})
	}
}
