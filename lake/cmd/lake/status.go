package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

func statusCommand(g *globals) *cobra.Command {
	return g.lakeCommand(&cobra.Command{
		Use:   "status",
		Short: "Compare the newest night of the lake with the warehouse",
		Args:  cli.NoArguments,
	}, readStatus)
}

func readStatus(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, _ []string) (result, error) {
	s, err := l.Status(ctx)
	if err != nil {
		return result{}, err
	}
	latest, ok, err := newestNight(wh)
	if err == nil && ok {
		err = s.Compare(wh, latest)
	}
	if err != nil {
		return result{}, err
	}
	text := s.Location + ": no night yet\n"
	if s.Run != "" {
		text = fmt.Sprintf("%s: night %s (snapshot %s), %s, %s; %s tagged\n", s.Location, s.Run,
			s.SnapshotAt.Format(time.RFC3339), humanize.Count(len(s.Tables), "table"), humanize.Count(s.Rows, "row"), humanize.Count(len(s.Nights), "night"))
	}
	switch {
	case s.OutOfOrder:
		text += fmt.Sprintf("the newest night of the warehouse, %s, is not later than the newest night in the lake. This is normal after a rollback or rebuild: the next night updates the lake\n", latest)
	case s.Behind && s.Run == latest:
		text += "some tables of the lake do not show this night: run \"placementsync lake publish --all\"\n"
	case s.Behind:
		text += fmt.Sprintf("the newest night of the warehouse is %s: run \"placementsync lake publish --all\"\n", latest)
	}
	return result{s, text}, nil
}
