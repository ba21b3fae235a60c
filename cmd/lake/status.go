package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/lake"
	"placementsync/internal/plural"
	"placementsync/internal/warehouse"
)

func statusCommand(g *globals) *cobra.Command {
	return g.lakeCommand(&cobra.Command{
		Use:   "status",
		Short: "Show which nights the lake has, and which one the warehouse",
		Args:  cobra.NoArgs,
	}, readStatus)
}

func readStatus(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, _ []string) (result, error) {
	s, err := l.Status(ctx)
	if err != nil {
		return result{}, err
	}
	latest, ok, err := wh.Versions.Latest()
	if err == nil && ok {
		err = s.Compare(wh, latest)
	}
	if err != nil {
		return result{}, err
	}
	text := s.Warehouse + ": no night yet\n"
	if s.Run != "" {
		text = fmt.Sprintf("%s: night %s of %s in %s, %s; %s by tag\n", s.Warehouse, s.Run,
			s.SnapshotAt.Format(time.RFC3339), plural.Count(len(s.Tables), "table"), plural.Count(s.Rows, "row"), plural.Count(len(s.Nights), "night"))
	}
	switch {
	case s.Kept:
		text += fmt.Sprintf("the warehouse shows %s, which is not later, as after a rollback or a rebuild: the lake keeps its night until the next one: run \"placementsync run\"\n", latest)
	case s.Behind && s.Run == latest:
		text += "readers do not see that night in every table: run \"placementsync lake publish\"\n"
	case s.Behind:
		text += fmt.Sprintf("the warehouse shows %s: run \"placementsync lake publish\"\n", latest)
	}
	return result{s, text}, nil
}
