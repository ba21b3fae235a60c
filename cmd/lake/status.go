package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func statusCommand(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which nights the lake has, and which one the warehouse",
		Args:  cobra.NoArgs,
		RunE:  markWork(func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), g, format) }),
	}
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	return cmd
}

func runStatus(ctx context.Context, g *globals, format string) (err error) {
	if err := checkFormat(format); err != nil {
		return err
	}
	wh, l, err := g.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s, err := l.Status(ctx)
	if err != nil {
		return err
	}
	latest, ok, err := wh.Versions.Latest()
	if err == nil && ok {
		err = s.Compare(wh, latest)
	}
	if err != nil {
		return err
	}
	if format == "json" {
		return writeJSON(g.stdout, s)
	}
	if s.Run == "" {
		fmt.Fprintf(g.stdout, "%s: no night yet\n", s.Warehouse)
	} else {
		fmt.Fprintf(g.stdout, "%s: night %s of %s in %d tables, %d rows; %d nights by tag\n", s.Warehouse, s.Run,
			s.SnapshotAt.Format(time.RFC3339), len(s.Tables), s.Rows, len(s.Nights))
	}
	switch {
	case s.Behind && s.Run == latest:
		fmt.Fprintln(g.stdout, "readers do not see that night in every table: placementsync lake publish")
	case s.Behind:
		fmt.Fprintf(g.stdout, "the warehouse shows %s: placementsync lake publish\n", latest)
	}
	return nil
}
