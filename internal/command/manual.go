package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manual is what the manual page of a program says besides the help of its commands.
type Manual struct {
	Version                      string
	Examples, Environment, Files []Fact
}

// Fact is a name and what it means: a command line, a variable, a file.
type Fact struct{ Name, Meaning string }

// Environment is what both programs read of the environment.
func Environment() []Fact {
	return []Fact{
		{"NAME", "The value of ${NAME} in the configuration, such as PLACEMENTSYNC_TOKEN."},
		{"NAME_FILE", "A file that holds this value, where NAME is not set: users who see the environment of a process do not see its files."},
		{"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_PROFILE", "Object storage, where the section s3 of the configuration does not say."},
		{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "The proxy for requests to the service and for alerts, and the hosts that are asked without one; this machine itself always is."},
		{"TMPDIR", "The folder for scratch files, by default /tmp."},
	}
}

// ManualCommand writes the manual page of a program. One page is about all commands: an
// operator looks for the program and not for its parts.
func ManualCommand(stdout io.Writer, m Manual) *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Write the manual page",
		Args:  cobra.NoArgs,
		RunE:  MarkWork(func(cmd *cobra.Command, _ []string) error { return m.write(stdout, cmd.Root()) }),
	}
}

func (m Manual) write(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	name := escapeRoff(root.Name())
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s %s\" \"User Commands\"\n", strings.ToUpper(name), name, escapeRoff(m.Version))
	b.WriteString(".nh\n.ad l\n") // a command is copied: no hyphen and no blank may come in
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", name, escapeRoff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I command\n[flags]\n", name)
	intro, codes, _ := strings.Cut(root.Long, "\n\nExit codes:\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", escapeRoff(intro))
	b.WriteString(".SH OPTIONS OF EVERY COMMAND\n")
	manFlags(&b, root.PersistentFlags())
	b.WriteString(".SH COMMANDS\n")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			manCommand(&b, cmd, readCodes(codes))
		}
	}
	manFacts(&b, "EXIT STATUS", "B", readCodes(codes))
	manFacts(&b, "ENVIRONMENT", "B", m.Environment)
	manFacts(&b, "FILES", "I", m.Files)
	manFacts(&b, "EXAMPLES", "B", m.Examples)
	_, err := io.WriteString(w, b.String())
	return err
}

// readCodes reads the lines of a table of exit codes, see [Meanings.Table].
func readCodes(lines string) (codes []Fact) {
	for line := range strings.Lines(lines) {
		code, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		codes = append(codes, Fact{code, strings.TrimSpace(meaning)})
	}
	return codes
}

// manFacts writes a section of names in a font, and what they mean.
func manFacts(b *strings.Builder, title, font string, facts []Fact) {
	fmt.Fprintf(b, ".SH %s\n", title)
	manList(b, font, facts)
}

func manList(b *strings.Builder, font string, facts []Fact) {
	for _, f := range facts {
		fmt.Fprintf(b, ".TP\n.%s %s\n%s\n", font, strings.ReplaceAll(escapeRoff(f.Name), `"`, `\(dq`), escapeRoff(f.Meaning))
	}
}

// manCommand writes what a command does, its flags, and the exit codes that mean something
// else for it than the general ones.
func manCommand(b *strings.Builder, cmd *cobra.Command, general []Fact) {
	use := strings.TrimPrefix(cmd.UseLine(), cmd.Root().Name()+" ")
	text, codes, _ := strings.Cut(cmp.Or(cmd.Long, cmd.Short), "\n\nExit codes:\n")
	fmt.Fprintf(b, ".SS %s\n%s\n", escapeRoff(use), escapeRoff(text))
	manFlags(b, cmd.LocalNonPersistentFlags())
	own := slices.DeleteFunc(readCodes(codes), func(f Fact) bool { return slices.Contains(general, f) })
	if len(own) > 0 {
		b.WriteString(".PP\nExit codes that mean something else here than below EXIT STATUS:\n")
		manList(b, "B", own)
	}
}

func manFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B \\-\\-%s", escapeRoff(f.Name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", escapeRoff(kind))
		}
		fmt.Fprintf(b, "\n%s", escapeRoff(usage))
		if f.DefValue != "" && !slices.Contains([]string{"false", "0", "[]"}, f.DefValue) {
			fmt.Fprintf(b, " (default %s)", escapeRoff(f.DefValue))
		}
		b.WriteString("\n")
	})
}

// escapeRoff escapes the control characters of troff and separates paragraphs.
func escapeRoff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		switch {
		case line == "":
			lines[i] = ".PP"
		case strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'"):
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
