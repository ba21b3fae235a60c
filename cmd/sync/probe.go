package main

import (
	"context"
	"fmt"
	"slices"

	"placementsync/internal/command"
	"placementsync/internal/daemon"
)

// probeDaemon asks the daemon of the same configuration how it is, for supervisors of
// containers: their image has no other program that could ask.
func probeDaemon(ctx context.Context, g *globals, question string) error {
	if known := []string{daemon.ProbeHealth, daemon.ProbeReady}; !slices.Contains(known, question) {
		return command.UsageErr("--probe is %q: use health or ready", question)
	}
	cfg, err := g.loadConfig("serve")
	if err != nil {
		return err
	}
	token := ""
	if question == daemon.ProbeReady { // health is told to everybody
		token = cfg.Serve.AuthToken.Reveal()
	}
	answer, err := daemon.Probe(ctx, cfg.Serve.Listen, question, token)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(g.stdout, answer)
	return err
}
