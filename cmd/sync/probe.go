package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
)

// probeDaemon probes the daemon that runs with this configuration. Health checks of containers
// use this probe, because the image contains no other program.
func probeDaemon(ctx context.Context, g *globals, kind string) error {
	if known := []string{daemon.ProbeHealth, daemon.ProbeReady}; !slices.Contains(known, kind) {
		return command.UsageErr("--probe is %q: use health or ready", kind)
	}
	listen, token, err := findDaemon(g, kind)
	if err != nil {
		return err
	}
	response, err := daemon.Probe(ctx, listen, kind, token)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(g.stdout, response)
	return err
}

// findDaemon returns the address of the daemon, and its token if the probe needs one. A
// probe of health needs only the address: the daemon may be healthy with an earlier
// configuration although the current file has errors in other keys.
func findDaemon(g *globals, kind string) (listen, token string, err error) {
	cfg, err := g.loadConfig("serve")
	if kind == daemon.ProbeReady {
		return cfg.Serve.Listen, cfg.Serve.AuthToken.Reveal(), err
	}
	if invalid, ok := errors.AsType[*config.Error](err); ok {
		for _, p := range invalid.Problems {
			if slices.Contains([]string{"", "serve", "serve.listen"}, p.Path) {
				return "", "", fmt.Errorf("find the address of the daemon: %s", invalid.Error())
			}
		}
		err = nil
	}
	return cfg.Serve.Listen, "", err
}
