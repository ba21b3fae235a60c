package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"placementsync/internal/nearest"
)

// explainUnknown lets a program say which flag a misspelt one may mean, and makes a
// command that help does not know the same error as elsewhere.
func explainUnknown(root *cobra.Command) {
	root.SetFlagErrorFunc(suggestFlag)
	root.InitDefaultHelpCmd()
	all := root.Commands()
	if i := slices.IndexFunc(all, func(cmd *cobra.Command) bool { return cmd.Name() == "help" }); i >= 0 {
		all[i].Args = refuseTopic
	}
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() && !cmd.Runnable() {
			cmd.Args, cmd.RunE = refuseWord, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		if cmd.Name() == "completion" && cmd.HasSubCommands() {
			cmd.Use, cmd.DisableFlagsInUseLine = "completion bash|zsh|fish|powershell", true
		}
	}
}

// refuseWord refuses what is no command below a command; cobra would show the help and
// succeed.
func refuseWord(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			known = append(known, below.Name())
		}
	}
	hint := "use one of " + strings.Join(known, ", ")
	cmd.SuggestionsMinimumDistance = 2 // as cobra sets it for the commands of a program
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		hint = "did you mean " + strings.Join(meant, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q: %s", args[0], cmd.CommandPath(), hint)
}

// refuseTopic refuses what is no command.
func refuseTopic(help *cobra.Command, args []string) error {
	topic, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = topic.ValidateArgs(rest)
	}
	return err
}

// suggestFlag adds to the error about an unknown flag which ones may be meant.
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
	alike := nearest.FindMeant(known, unknown.GetSpecifiedName())
	if len(alike) == 0 {
		return err
	}
	return fmt.Errorf("%w: did you mean --%s?", err, strings.Join(alike, " or --"))
}

// joinSuggestions brings cobra's lines about an unknown command to the form of all other
// suggestions.
func joinSuggestions(err error) error {
	if err == nil {
		return nil
	}
	text, alike, ok := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if !ok || errors.As(err, new(*workError)) {
		return err
	}
	return fmt.Errorf("%s: did you mean %s?", text, strings.Join(strings.Fields(alike), " or "))
}
