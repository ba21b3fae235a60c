package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPage writes one page of the manual about all commands: an operator looks for
// the program and not for its parts.
func manPage(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH PLACEMENTSYNC 1 \"\" \"placementsync %s\" \"User Commands\"\n", escapeRoff(version))
	fmt.Fprintf(&b, ".SH NAME\nplacementsync \\- %s\n", escapeRoff(lowerFirst(root.Short)))
	b.WriteString(".SH SYNOPSIS\n.B placementsync\n.I command\n[flags]\n")
	intro, codes, _ := strings.Cut(root.Long, "\n\nExit codes:\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", escapeRoff(intro))
	b.WriteString(".SH OPTIONS OF EVERY COMMAND\n")
	manFlags(&b, root.PersistentFlags())
	b.WriteString(".SH COMMANDS\n")
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			manCommand(&b, cmd)
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	for line := range strings.Lines(codes) {
		code, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", code, escapeRoff(strings.TrimSpace(meaning)))
	}
	b.WriteString(".SH FILES\n.TP\n.I config.yaml\nThe configuration, unless \\-\\-config names another one.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func manCommand(b *strings.Builder, cmd *cobra.Command) {
	use := strings.TrimPrefix(cmd.UseLine(), "placementsync ")
	text, _, _ := strings.Cut(helpText(cmd), "\n\nExit codes:\n")
	fmt.Fprintf(b, ".SS %s\n%s\n", escapeRoff(use), escapeRoff(text))
	manFlags(b, cmd.LocalNonPersistentFlags())
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

// escapeRoff escapes what troff would take for its own, and keeps paragraphs apart.
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

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
