package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"placementsync/internal/config"
	"placementsync/internal/pipeline"
)

func checkCommand(g *globals) *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check configuration, token, scopes and lock, and show the plan of a night",
		Args:  cobra.NoArgs,
		RunE:  ran(func(cmd *cobra.Command, _ []string) error { return runCheck(cmd.Context(), g, offline) }),
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "check the configuration only, send nothing")
	return cmd
}

func runCheck(ctx context.Context, g *globals, offline bool) error {
	cfg, err := g.load()
	if err != nil {
		return err
	}
	night, err := g.nightConfig(cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(g.stdout, "configuration  %s is valid\n", g.config)
	if doubt := tokenDoubt(cfg); doubt != "" {
		fmt.Fprintf(g.stdout, "token          %s\n", doubt)
	}
	if offline {
		return nil
	}
	plan, err := pipeline.Check(ctx, night)
	if err != nil {
		return err
	}
	return showPlan(g.stdout, plan, cfg)
}

func tokenDoubt(cfg config.Config) string {
	return config.TokenDoubt(cfg.API.Token)
}

func showPlan(w io.Writer, p pipeline.Plan, cfg config.Config) error {
	fmt.Fprintf(w, "service        %s answered in %s\n", cfg.API.BaseURL, p.Took.Round(time.Millisecond))
	fmt.Fprintf(w, "token          type %s, team %s, %d scopes\n", orUnknown(p.Token.Type), orUnknown(p.Token.TeamID), len(p.Token.Scopes))
	fmt.Fprintf(w, "warehouse      %s, newest snapshot %s, %s free\n", cfg.Warehouse.Dir, orUnknown(p.Latest), size(p.FreeBytes))
	if p.Held != nil {
		fmt.Fprintf(w, "lock           %v\n", p.Held)
	}
	t := newTable("stream", "plan", "requests last time")
	for _, s := range p.Streams {
		does := "run"
		if s.Skip != "" {
			does = "skip: " + s.Skip
		}
		t.AppendRow(table.Row{s.Name, does, lastRequests(s.LastRequests)})
	}
	alignRight(t, 3)
	fmt.Fprintf(w, "\n%s\n", t.Render())
	if p.Requests > 0 {
		fmt.Fprintf(w, "\nabout %d requests, %s at the configured rate\n", p.Requests, pace(p.Requests, cfg.API.RequestsPerSecond))
	}
	if p.Held != nil {
		return p.Held
	}
	return nil
}

func lastRequests(n int64) string {
	if n < 0 {
		return "not read yet"
	}
	return fmt.Sprint(n)
}

// pace is the least time that so many requests take.
func pace(requests int64, perSecond float64) string {
	if perSecond <= 0 {
		return "no limit"
	}
	return "about " + time.Duration(float64(requests)/perSecond*float64(time.Second)).Round(time.Second).String()
}

func orUnknown(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
