package pipeline

import (
	"context"
	"strings"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/schema"
)

// findRenamedFields reads one page of each list. A list that cannot be read is left out: a night reports it.
func findRenamedFields(ctx context.Context, client *fetch.Client, cfg Config, token Token) ([]transform.RenamedField, error) {
	definitions, _ := schema.Definitions()
	definitions = stream.WithOtherNames(definitions, cfg.OtherNames)
	private, err := PrivateColumns(cfg.Privacy)
	if err != nil {
		return nil, err
	}
	var all []transform.RenamedField
	for _, s := range cfg.Streams {
		if s.IsEvents() || s.IsDetail() || s.Path == tokenPath || cfg.skipReason(token, s) != "" {
			continue
		}
		binding, err := transform.Bind(s, definitions, cfg.Privacy)
		if err != nil {
			return nil, err
		}
		decoder, param := binding.NewDecoder(), ""
		if strings.Contains(s.Path, "{team_id}") {
			param = token.TeamID
		}
		facts, err := client.ReadFirstPage(ctx, s, param, func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
			return decoder.Decode(r.Body, transform.Origin{Seq: 1, Param: r.Param, Team: token.TeamID})
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			all = append(all, transform.RenamedFields(facts.Records, decoder.Findings().Drift, decoder.Flush(), private)...)
		}
	}
	return all, nil
}
