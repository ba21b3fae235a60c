package main

import (
	"cmp"
	"context"
	"net/http"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// This file maps the configuration to the settings of packages that do not depend on its format.

func (g *globals) loadConfig(sections ...string) (config.Config, error) {
	return g.LoadConfig(g.LookupEnv, sections...)
}

// openWarehouse needs no section for the service, so analysts can use it without a token.
func (g *globals) openWarehouse() (*warehouse.Warehouse, config.Config, error) {
	cfg, err := g.loadConfig("warehouse", "retention")
	if err != nil {
		return nil, cfg, err
	}
	return g.newWarehouse(cfg), cfg, nil
}

func (g *globals) newWarehouse(cfg config.Config) *warehouse.Warehouse {
	return warehouse.New(g.warehouseConfig(cfg))
}

func (g *globals) warehouseConfig(cfg config.Config) warehouse.Config {
	c := cli.WarehouseConfig(cfg, version)
	c.Step = g.Step
	return c
}

func fetchConfig(c config.Config) fetch.Config {
	a := c.API
	return fetch.Config{BaseURL: a.BaseURL, UserAgent: cmp.Or(a.UserAgent, "placementsync/"+version), Proxy: http.ProxyFromEnvironment,
		Token: func(context.Context) (string, error) {
			token, err := a.ReadToken()
			return token.Reveal(), err
		},
		RequestsPerSecond: a.RequestsPerSecond, Burst: a.Burst, Concurrency: a.Concurrency,
		PageSize: a.PageSize, MaxPasses: c.Streams.MaxPasses, MaxPages: c.Streams.MaxPages, Timeout: a.Timeout, MaxBody: a.MaxBodyBytes(),
		Retry:            fetch.Retry(a.Retry),
		Patience:         c.Run.Patience,
		TokenCanChange:   a.TokenFile != "",
		HasPrivateValues: len(c.Privacy.Drop)+len(c.Privacy.Hash) > 0,
	}
}

func (g *globals) nightConfig(c config.Config) (pipeline.Config, error) {
	for _, warning := range c.Warnings {
		g.newLogger().Warn("a secret can be read or changed by other users", "reason", warning)
	}
	chosen, err := chosenStreams(c.Streams)
	if err != nil {
		return pipeline.Config{}, err
	}
	privacy := transform.Privacy{Drop: c.Privacy.Drop, Hash: c.Privacy.Hash, Key: []byte(c.Privacy.HashKey.Reveal())}
	checkSet, err := loadChecks(c)
	if err != nil {
		return pipeline.Config{}, err
	}
	return pipeline.Config{
		Warehouse: g.warehouseConfig(c), Fetch: fetchConfig(c), Streams: stream.AllWithEvents(), Chosen: chosen,
		TeamID: c.API.TeamID, OtherNames: c.API.Fields, MinorUnits: c.API.PriceUnit == config.MinorUnit, Ignored: c.History.Ignore,
		Checks: checkSet, CheckTimeout: c.Checks.Timeout, Settings: c.QuerySettings(),
		Privacy: privacy, ResumeMaxAge: c.Run.ResumeMaxAge, MaxDuration: c.Run.MaxDuration,
		Details: pipeline.Details(c.Streams.Details), LiveDays: c.Streams.LiveDays, Recheck: c.Streams.Recheck,
		Limits: load.Limits{Share: c.Run.MassDeleteShare, Rows: int64(c.Run.MassDeleteRows)},
		Now:    g.Now, Log: g.newLogger(),
	}, nil
}

// chosenStreams checks the patterns again, because they may come from a flag.
func chosenStreams(c config.Streams) ([]string, error) {
	for _, pattern := range c.Include {
		if hint := cli.SuggestStream(pattern); hint != "" {
			return nil, cli.UsageErr("no stream is named %q: %s", pattern, hint)
		}
	}
	chosen := cli.ChooseStreams(c.Include, c.Exclude)
	if len(chosen) == 0 {
		return nil, cli.UsageErr("streams.include and streams.exclude leave no stream")
	}
	return chosen, nil
}
