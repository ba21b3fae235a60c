package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func checkCommand(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Write to the lake and take it back",
		Long: "Write a file and a table to the lake and take both back, so that a wrong address, key or\n" +
			"right is found before the night.",
		Args: cobra.NoArgs,
		RunE: markWork(func(cmd *cobra.Command, _ []string) error { return runCheck(cmd.Context(), g, format) }),
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	return cmd
}

func runCheck(ctx context.Context, g *globals, format string) (err error) {
	if err := checkFormat(format); err != nil {
		return err
	}
	_, l, err := g.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Check(ctx); err != nil {
		return err
	}
	if format == "json" {
		return writeJSON(g.stdout, map[string]any{"writable": true})
	}
	_, err = fmt.Fprintln(g.stdout, "the lake can be written")
	return err
}
