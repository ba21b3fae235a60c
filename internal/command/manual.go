package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Manual is the content of the manual pages of a program besides the help of its commands.
type Manual struct {
	Version                      string
	Examples, Environment, Files []Fact
}

// Fact is a name and what it means: a command line, a variable, a file.
type Fact struct{ Name, Meaning string }

// Environment lists the variables that both programs read.
func Environment() []Fact {
	return []Fact{
		{"NAME", "The value of ${NAME} in the configuration, such as PLACEMENTSYNC_TOKEN."},
		{"NAME_FILE", "A file that holds this value, where NAME is not set: users who see the environment of a process do not see its files."},
		{"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_PROFILE", "Object storage, where the section s3 of the configuration does not say."},
		{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "The proxy for requests to the service and for alerts, and the hosts that are asked without one; this machine itself always is."},
		{"TMPDIR", "The folder for scratch files, by default /tmp."},
	}
}

// ManualCommand writes the manual pages of a program, one for each command.
func ManualCommand(m Manual) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages into a folder",
		Args:  cobra.ExactArgs(1),
		RunE: MarkWork(func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true // it would write the day of the build into each page
			if completion, _, err := root.Find([]string{"completion"}); err == nil && completion != root {
				root.RemoveCommand(completion) // its help is about shells, not about this program
			}
			helpAsMarkdown(root)
			root.Long += factsAsMarkdown("ENVIRONMENT", m.Environment) + factsAsMarkdown("FILES", m.Files) + factsAsMarkdown("EXAMPLES", m.Examples)
			header := &doc.GenManHeader{Source: root.Name() + " " + m.Version, Manual: "User Commands"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			return dontHyphenate(args[0])
		}),
	}
}

// dontHyphenate keeps commands and paths in one piece, so that they can be copied. The .nh of
// cobra/doc holds only until the next paragraph.
func dontHyphenate(dir string) error {
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	for _, page := range pages {
		text, readErr := os.ReadFile(page)
		if readErr == nil {
			readErr = os.WriteFile(page, bytes.Replace(text, []byte("\n.SH NAME\n"), []byte(".nr HY 0\n.nh\n.ad l\n.SH NAME\n"), 1), 0o644)
		}
		err = errors.Join(err, readErr)
	}
	return err
}

// helpAsMarkdown turns the help of all commands into the markdown that cobra/doc reads.
func helpAsMarkdown(cmd *cobra.Command) {
	text, codes, found := strings.Cut(cmp.Or(cmd.Long, cmd.Short), "\n\nExit codes:\n")
	cmd.Long = asMarkdown(text)
	if found {
		cmd.Long += "\n\n# EXIT STATUS\n\n" + asMarkdown(codes)
	}
	for _, child := range cmd.Commands() {
		helpAsMarkdown(child)
	}
}

// asMarkdown keeps the lines of what is indented: tables and commands.
func asMarkdown(help string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(help + "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != code {
			b.WriteString("\n```\n")
			code = indented
		}
		if !code {
			line = escapeMarkdown(line)
		}
		b.WriteString(line)
	}
	if code {
		b.WriteString("```\n")
	}
	return b.String()
}

func factsAsMarkdown(title string, facts []Fact) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n# %s\n\n", title)
	for _, f := range facts {
		fmt.Fprintf(&b, "**%s**\n\t%s\n\n", escapeMarkdown(f.Name), escapeMarkdown(f.Meaning))
	}
	return b.String()
}

func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`).Replace(s)
}
