package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"placementsync/internal/nearest"
)

// explainUnknown adds suggestions to the errors of misspelt flags. It makes unknown subcommands and
// help topics errors, like unknown commands.
func explainUnknown(root *cobra.Command) {
	root.SetFlagErrorFunc(suggestFlag)
	root.InitDefaultHelpCmd()
	commands := root.Commands()
	if i := slices.IndexFunc(commands, func(cmd *cobra.Command) bool { return cmd.Name() == "help" }); i >= 0 {
		commands[i].Args = checkTopic
	}
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() && !cmd.Runnable() {
			cmd.Args, cmd.RunE = checkSubcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		if cmd.Name() == "completion" && cmd.HasSubCommands() {
			cmd.Use, cmd.DisableFlagsInUseLine = "completion bash|zsh|fish|powershell", true
		}
	}
}

// checkSubcommand is needed because cobra succeeds for an unknown subcommand, and prints the help of its parent.
func checkSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	hint := "use one of " + strings.Join(known, ", ")
	cmd.SuggestionsMinimumDistance = 2 // cobra's default for the root command
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q: %s", args[0], cmd.CommandPath(), hint)
}

func checkTopic(help *cobra.Command, args []string) error {
	topic, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = topic.ValidateArgs(rest)
	}
	return err
}

func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	similar := nearest.FindSuggestions(known, unknown.GetSpecifiedName())
	if len(similar) == 0 {
		return err
	}
	return fmt.Errorf("%w: did you mean --%s?", err, strings.Join(similar, " or --"))
}

// joinSuggestions puts cobra's suggestions for an unknown command on one line, like all other suggestions.
func joinSuggestions(err error) error {
	text, similar, ok := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if !ok {
		return err
	}
	return fmt.Errorf("%s: did you mean %s?", text, strings.Join(strings.Fields(similar), " or "))
}
