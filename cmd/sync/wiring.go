package main

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// This file maps the configuration to the components; none of them knows the form
// of the file.

// loadConfig reads the whole configuration, for commands that talk to the service, or the
// sections that a command needs.
func (g *globals) loadConfig(sections ...string) (config.Config, error) {
	return g.LoadConfig(g.lookupEnv, sections...)
}

// openWarehouse opens the warehouse of the configuration, which is all that an analyst
// needs of it.
func (g *globals) openWarehouse() (*warehouse.Warehouse, config.Config, error) {
	cfg, err := g.loadConfig("warehouse", "retention")
	if err != nil {
		return nil, cfg, err
	}
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	return wh, cfg, err
}

func fetchConfig(c config.Config) fetch.Config {
	a := c.API
	agent := a.UserAgent
	if agent == "" {
		agent = "placementsync/" + version
	}
	return fetch.Config{BaseURL: a.BaseURL, UserAgent: agent,
		Token: func(context.Context) (string, error) {
			token, err := a.ReadToken(os.ReadFile)
			return token.Reveal(), err
		},
		RequestsPerSecond: a.RequestsPerSecond, Burst: a.Burst, Concurrency: a.Concurrency,
		PageSize: a.PageSize, MaxPasses: c.Streams.MaxPasses, MaxPages: c.Streams.MaxPages, Timeout: a.Timeout, MaxBody: a.MaxBodyBytes(),
		Retry: fetch.Retry{MaxRetries: a.Retry.MaxRetries, Base: a.Retry.Base, Max: a.Retry.Max, Jitter: a.Retry.Jitter},
	}
}

// nightConfig is the night that the configuration describes.
func (g *globals) nightConfig(c config.Config) (pipeline.Config, error) {
	for _, warning := range c.Warnings {
		g.newLogger().Warn("a secret is open to others", "reason", warning)
	}
	streams, err := chosenStreams(stream.All(), c.Streams.Include, c.Streams.Exclude)
	if err != nil {
		return pipeline.Config{}, err
	}
	private, err := newPrivacy(c.Privacy)
	if err != nil {
		return pipeline.Config{}, err
	}
	folder := command.WarehouseConfig(c, version)
	folder.Step = g.step
	return pipeline.Config{
		Warehouse: folder, Build: nameBuild(), Fetch: fetchConfig(c), Streams: stream.Known(), Chosen: streams,
		TeamID:  c.API.TeamID,
		Privacy: private, ResumeMaxAge: c.Run.ResumeMaxAge, MaxDuration: c.Run.MaxDuration,
		Details: pipeline.Details(c.Streams.Details), LiveDays: c.Streams.LiveDays, Recheck: c.Streams.Recheck,
		Limits: load.Limits{Share: c.Run.MassDeleteShare, Rows: int64(c.Run.MassDeleteRows)},
		Now:    g.now, Log: g.newLogger(),
	}, nil
}

// newPrivacy checks that every rule names a column: a typing
// error would publish private data.
func newPrivacy(p config.Privacy) (transform.Privacy, error) {
	defs, _, err := warehouse.Definitions()
	if err != nil {
		return transform.Privacy{}, err
	}
	for _, name := range slices.Concat(p.Drop, p.Hash) {
		table, column, _ := strings.Cut(name, ".")
		if _, ok := defs[table].Column(column); !ok {
			return transform.Privacy{}, command.UsageErr("privacy names %q, which is not a column: placementsync schema lists all", name)
		}
	}
	return transform.Privacy{Drop: p.Drop, Hash: p.Hash, Key: []byte(p.HashKey.Reveal())}, nil
}

// chosenStreams applies the patterns of streams.include and streams.exclude. A
// pattern that matches no stream is an error.
func chosenStreams(all []stream.Stream, include, exclude []string) ([]string, error) {
	for _, pattern := range slices.Concat(include, exclude) {
		if !slices.ContainsFunc(all, func(s stream.Stream) bool { return fitsPattern(s.Name, []string{pattern}) }) {
			return nil, command.UsageErr("no stream is called %q: use one of %s", pattern, strings.Join(streamsOf(all), ", "))
		}
	}
	var names []string
	for _, s := range all {
		if (len(include) == 0 || fitsPattern(s.Name, include)) && !fitsPattern(s.Name, exclude) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return nil, command.UsageErr("streams.include and streams.exclude leave no stream")
	}
	return names, nil
}

func fitsPattern(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
