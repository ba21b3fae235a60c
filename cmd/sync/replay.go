package main

import (
	"context"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/pipeline"
)

func replayCommand(g *globals) *cobra.Command {
	acceptLoss := false
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Build the tables of a run again from its stored responses, without the network",
		Long: "Build the tables of a run again from its stored responses, and publish them. replay sends no\n" +
			"requests and needs no token. Use replay for a run that did not publish, for the newest run\n" +
			"after an update of this program that improves decoding, or for a damaged run if verify names\n" +
			"replay. To replay an older run, first roll back to it.\n\n" +
			"If stored responses are missing or damaged, replay publishes only with --accept-loss.\n\n" + exitCodes(),
		Args:              exactlyOneRun,
		ValidArgsFunction: g.completeRun(runsWithResponses),
		RunE:              func(cmd *cobra.Command, args []string) error { return runReplay(cmd.Context(), g, args[0], acceptLoss) },
	}
	cmd.Flags().BoolVar(&acceptLoss, "accept-loss", false, "publish even if stored responses are missing or damaged")
	return cmd
}

func exactlyOneRun(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return cli.UsageErr("%s needs a RUN: the command \"runs\" lists the runs", cmd.Name())
	case 1:
		return nil
	}
	return cli.UsageErr("%s takes one RUN and got %d", cmd.Name(), len(args))
}

func runReplay(ctx context.Context, g *globals, run string, acceptLoss bool) error {
	// Most of the section "api" is not loaded, because a replay needs no token.
	cfg, err := g.loadConfig("api.fields", "api.price_unit", "warehouse", "retention", "streams", "run", "history", "checks", "privacy", "statuses")
	if err != nil {
		return err
	}
	night, err := g.nightConfig(cfg)
	if err != nil {
		return err
	}
	night.AcceptLoss = acceptLoss
	res, err := pipeline.Replay(ctx, night, run)
	return g.endNight(res, err, false) // no dry run
}
