package cli

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

// Manual is the content of the manual pages besides the help of the commands.
type Manual struct {
	Version                      string
	Examples, Environment, Files []ManualEntry
}

// ManualEntry is a line of a section: a command line, a variable or a file, with its meaning.
type ManualEntry struct{ Name, Meaning string }

// Environment lists the variables that placementsync and placementsync-lake both read.
func Environment() []ManualEntry {
	return []ManualEntry{
		{"NAME", "The value of ${NAME} in the configuration. For example, PLACEMENTSYNC_TOKEN is the value of ${PLACEMENTSYNC_TOKEN}."},
		{"NAME_FILE", "The path of a file that contains the value of ${NAME}, used if NAME is not set. Other users can possibly read the environment of the program, but not the file."},
		{"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_PROFILE", "The keys, region and profile for object storage, used for settings that are empty in the section \"s3\" of the configuration."},
		{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "The proxy for requests to the service and for alerts, and the hosts reached without it. No proxy is used for this machine itself."},
		{"TMPDIR", "The folder for temporary files, by default /tmp."},
	}
}

// AddManual adds the hidden command "docs man" to a program. "make install" writes the manual pages with
// it, one for each command of the program.
func AddManual(root *cobra.Command, m Manual) {
	docs := &cobra.Command{Use: "docs", Short: "Write the manual pages", Hidden: true, Args: NoArguments}
	root.AddCommand(docs)
	docs.AddCommand(&cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages into a folder",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true // the tag would put the date of the build into each page
			if completion, _, err := root.Find([]string{"completion"}); err == nil && completion != root {
				root.RemoveCommand(completion) // its help is about shells, not about this program
			}
			convertHelp(root)
			root.Long += entriesAsMarkdown("ENVIRONMENT", m.Environment) + entriesAsMarkdown("FILES", m.Files) + entriesAsMarkdown("EXAMPLES", m.Examples)
			header := &doc.GenManHeader{Source: root.Name() + " " + m.Version, Manual: "User Commands"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			return disableHyphenation(args[0])
		},
	})
}

// disableHyphenation turns off hyphenation and justification for whole pages, so that commands and paths can
// be copied. The troff request .nh that cobra/doc writes is effective for one paragraph only.
func disableHyphenation(dir string) error {
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	for _, page := range pages {
		text, pageErr := os.ReadFile(page)
		if pageErr == nil {
			pageErr = os.WriteFile(page, bytes.Replace(text, []byte("\n.SH NAME\n"), []byte(".nr HY 0\n.nh\n.ad l\n.SH NAME\n"), 1), 0o644)
		}
		err = errors.Join(err, pageErr)
	}
	return err
}

func convertHelp(cmd *cobra.Command) {
	text, exitCodes, hasCodes := strings.Cut(cmp.Or(cmd.Long, cmd.Short), "\n\nExit codes:\n")
	cmd.Long = asMarkdown(text)
	if hasCodes {
		cmd.Long += "\n\n# EXIT STATUS\n\n" + asMarkdown(exitCodes)
	}
	for _, child := range cmd.Commands() {
		convertHelp(child)
	}
}

// asMarkdown puts indented lines (tables and commands) into code blocks.
func asMarkdown(help string) string {
	var b strings.Builder
	inCode := false
	for line := range strings.Lines(help + "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != inCode {
			b.WriteString("\n```\n")
			inCode = indented
		}
		if !inCode {
			line = escapeMarkdown(line)
		}
		b.WriteString(line)
	}
	if inCode {
		b.WriteString("```\n")
	}
	return b.String()
}

func entriesAsMarkdown(title string, entries []ManualEntry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n# %s\n\n", title)
	for _, e := range entries {
		fmt.Fprintf(&b, "**%s**\n\t%s\n\n", escapeMarkdown(e.Name), escapeMarkdown(e.Meaning))
	}
	return b.String()
}

func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`).Replace(s)
}
