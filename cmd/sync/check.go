package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
	"placementsync/internal/watch"
)

func checkCommand(g *globals) *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check configuration, token, scopes, disk, lock and warehouse, and show the plan of a night",
		Long: "Check configuration, token, scopes, disk, lock and warehouse, and show the plan of a night.\n\n" +
			cli.Meanings{Complete: "a night can start", Failed: "a night would fail",
				Partial: "the token lost the right to read a stream, so nights would be partial", Locked: "another run holds the lock"}.Table(),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCheck(cmd.Context(), g, offline) },
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "check the configuration only; send no request")
	return cmd
}

func runCheck(ctx context.Context, g *globals, offline bool) error {
	cfg, err := g.loadConfig()
	if invalid, ok := errors.AsType[*config.Error](err); ok {
		sectionErr := invalid.Within("queries", "checks", "warehouse", "retention")
		if sectionErr == nil { // the sections that checkUserSQL needs are valid
			// Also check the SQL of watches and checks, so that one call reports all problems.
			err = errors.Join(err, checkUserSQL(ctx, g.silent(), cfg))
		}
	}
	if err != nil {
		return err
	}
	warnings := cfg.Warnings
	cfg.Warnings = nil // the warnings are printed below instead of logged
	night, err := g.nightConfig(cfg)
	if err != nil {
		return err
	}
	token, err := cfg.API.ReadToken()
	if err != nil {
		return errors.Join(cli.UsageErr("check %s: %w", g.Config, err), checkUserSQL(ctx, g.silent(), cfg))
	}
	fmt.Fprintf(g.stdout, "configuration  %s is valid\n", g.Config)
	if warning := unreadableTokenWarning(cfg); warning != "" {
		warnings = append(warnings, warning)
	}
	for _, warning := range warnings {
		fmt.Fprintf(g.stdout, "warning        %s\n", warning)
	}
	if warning := config.TokenWarning(token); warning != "" {
		fmt.Fprintf(g.stdout, "token          %s\n", warning)
	}
	if err := checkUserSQL(ctx, g, cfg); err != nil || offline {
		return err
	}
	// The user waits for the result, so an unreachable service is reported without
	// retries, and retries of other errors are logged.
	night.Fetch.FailUnreachable = true
	if !g.Quiet {
		night.Log = g.NewLoggerAt(slog.LevelDebug, g.stderr)
	}
	plan, err := pipeline.PlanNight(ctx, night)
	if err != nil {
		return err
	}
	err = checkBucket(ctx, g, cfg)
	printPlan(g.stdout, plan, cfg)
	return errors.Join(err, planErr(plan), g.checkLake(ctx, cfg))
}

// checkUserSQL checks user-defined queries, the watches and user-defined checks, and prints the valid ones.
// With a published snapshot it also prepares their SQL and checks the columns of the watches. The error contains
// all problems. Channels and conditions were already checked with the configuration.
func checkUserSQL(ctx context.Context, g *globals, cfg config.Config) (err error) {
	if len(cfg.Watch) == 0 && cfg.Queries.Dir == "" && cfg.Checks.Dir == "" {
		return nil
	}
	wh, _, err := g.openWarehouse()
	if err != nil {
		return err
	}
	_, isPublished, err := wh.Versions.Latest()
	if err != nil {
		return err
	}
	var db *query.DB // nil if there is no snapshot
	if isPublished {
		if db, err = openCatalog(ctx, g, query.Options{Before: &query.Before{}}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	queries, loadErr := query.Load(cfg.Queries.Dir)
	problems := g.checkUserFiles(ctx, "queries", cfg.Queries.Dir, queries, loadErr, db)
	for _, w := range newWatches(cfg.Watch) {
		if w.Query == "" { // already reported with the configuration
			continue
		}
		q, err := queries.Resolve(w.Query)
		if err == nil && db != nil {
			err = watch.Check(ctx, db, q, w)
		}
		if err != nil {
			problems = errors.Join(problems, cli.UsageErr("check the watch %s: %w", w.Name, err))
			continue
		}
		source := "SQL"
		if q.Name != "" {
			source = "query " + q.Name
		}
		fmt.Fprintf(g.stdout, "watch          %s runs %s and sends to %s\n", w.Name, source, strings.Join(w.Channels, ", "))
	}
	if db == nil && len(cfg.Watch) > 0 {
		fmt.Fprintln(g.stdout, "watch          no snapshot is published yet: the columns of the queries were not checked")
	}
	checks, loadErr := query.LoadChecks(cfg.Checks.Dir)
	return errors.Join(problems, g.checkUserFiles(ctx, "checks", cfg.Checks.Dir, checks, loadErr, db))
}

// checkUserFiles prints the number of user-defined queries or checks, or returns an error with all files
// that cannot be used. loadErr is the error of loading the files. Without a db their SQL is not prepared.
func (g *globals) checkUserFiles(ctx context.Context, kind, dir string, all query.Library, loadErr error, db *query.DB) error {
	if dir == "" {
		return loadErr
	}
	var problems []string
	for _, err := range []error{loadErr, all.ValidateUserFiles(ctx, db)} {
		if faulty, ok := errors.AsType[*query.FilesError](err); ok {
			problems = append(problems, faulty.Problems...)
		} else if err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return cli.UsageErr("load the user-defined %s: %s cannot be used:\n  %s", kind, humanize.Count(len(problems), "file"),
			query.EscapeLines(strings.Join(problems, "\n  ")))
	}
	userFiles := slices.DeleteFunc(all.List(), func(q query.Query) bool { return !q.IsUserDefined() })
	fmt.Fprintf(g.stdout, "%-14s %d of your own in %s\n", kind, len(userFiles), dir)
	return nil
}

func checkBucket(ctx context.Context, g *globals, cfg config.Config) error {
	if cfg.Backup == "" {
		return nil
	}
	b, err := openBucket(ctx, cfg, cfg.Backup)
	if err != nil {
		return err
	}
	const name, maxBytes = "check", 100
	text := []byte("written by placementsync check, and removed by it")
	if err := b.PutBytes(ctx, name, text); err != nil {
		return err
	}
	got, err := b.Read(ctx, name, maxBytes)
	err = errors.Join(err, b.Delete(ctx, name))
	if err != nil {
		return err
	}
	if string(got) != string(text) {
		return fmt.Errorf("check %s: the test object had different content when it was read back; another program uses this prefix, or the server is faulty: "+
			"use another prefix, or check the server", cfg.Backup)
	}
	fmt.Fprintf(g.stdout, "backup         %s can be written\n", cfg.Backup)
	return nil
}

func printPlan(w io.Writer, p pipeline.Plan, cfg config.Config) {
	fmt.Fprintf(w, "service        %s answered in %s\n", cfg.API.BaseURL, p.Latency.Round(time.Millisecond))
	fmt.Fprintf(w, "token          type %s, team %s, %s\n", orNone(p.Token.Type), orNone(p.Token.TeamID), humanize.Count(len(p.Token.Scopes), "scope"))
	fmt.Fprintf(w, "warehouse      %s, newest snapshot %s\n", cfg.Warehouse.Dir, orNone(p.PublishedRun))
	free, need := humanize.FormatBytes(p.FreeBytes), humanize.FormatBytes(p.NeedBytes)
	diskText := fmt.Sprintf("%s free, a night may need %s", free, need)
	switch {
	case p.NeedBytes == 0:
		diskText = free + " free"
	case p.FreeBytes < p.NeedBytes:
		diskText = fmt.Sprintf("%s free, TOO LITTLE: a night may need %s: free some space, or run placementsync prune", free, need)
	}
	fmt.Fprintf(w, "disk           %s\n", diskText)
	for _, d := range p.Damage {
		fmt.Fprintf(w, "damaged        %s: %s; repair: %s\n", query.EscapeLines(d.File), query.EscapeLines(d.Problem), d.Repair.Command())
	}
	if p.LockedErr != nil {
		fmt.Fprintf(w, "lock           %v\n", p.LockedErr)
	}
	if p.StoppedRun != nil {
		fmt.Fprintf(w, "mass delete    run %s was not published: %s; the next run does not resume it; "+
			"if the service really deleted these rows, run placementsync run --allow-mass-delete\n", p.StoppedRun.ID, ledger.DescribeLosses(p.StoppedRun.Losses))
	}
	for _, s := range p.Streams {
		if s.IsLost {
			fmt.Fprintf(w, "warning        %s cannot be read: %s; an earlier night read this stream, so nights are partial: "+
				"restore the right, or add the stream to streams.exclude\n", s.Name, s.SkipReason)
		}
	}
	for _, f := range p.Renamed {
		fmt.Fprintf(w, "field          %s has no value, and most records have the unknown field %s; if it is the same field, set api.fields: {%s: %s}\n",
			f.Column, query.EscapeLines(f.Field), f.Column, query.EscapeLines(f.Field))
	}
	t := textTable{columns: []column{
		{name: "stream"}, {name: "plan"}, {name: "requests last time", isNumber: true}, {name: "at the configured rate", isNumber: true},
	}}
	for _, s := range p.Streams {
		action, requests := "run", "not read yet"
		if s.SkipReason != "" {
			action = "skip: " + s.SkipReason
		}
		if s.LastRequests >= 0 {
			requests = fmt.Sprint(s.LastRequests)
		}
		t.addRow(s.Name, action, requests, minTime(s.LastRequests, cfg.API.RequestsPerSecond))
	}
	fmt.Fprintf(w, "\n%s\n\n%s\n", t.render(0), expectedCost(p, cfg.API.RequestsPerSecond))
	if ids, streams := p.LastNight.Unread(); ids > 0 {
		fmt.Fprintf(w, "not read by the last night: %s\n", unreadText(ids, streams))
	}
}

// planErr returns the first known reason why a night would fail, or else be partial.
func planErr(p pipeline.Plan) error {
	switch {
	case p.WriteErr != nil:
		return p.WriteErr
	case p.MissingErr != nil:
		return p.MissingErr
	case p.LockedErr != nil:
		return p.LockedErr
	case p.TooFull():
		return fmt.Errorf("%s of free disk space is too little for a night: free some space, or run placementsync prune", humanize.FormatBytes(p.FreeBytes))
	case len(p.Damage) > 0:
		return fmt.Errorf("the warehouse has %s: run placementsync verify --read-data, which prints the repair", humanize.Count(len(p.Damage), "damaged file"))
	case slices.ContainsFunc(p.Streams, func(s pipeline.StreamPlan) bool { return s.IsLost }):
		return cli.EndWith(ledger.Partial, nil)
	}
	return nil
}

func unreadText(ids int64, streams int) string {
	return humanize.Count(ids, "id") + " in " + humanize.Count(streams, "stream")
}

func expectedCost(p pipeline.Plan, perSecond float64) string {
	if p.Requests == 0 {
		return "requests and time are known after the first night"
	}
	text := "about " + humanize.Count(p.Requests, "request")
	if perSecond > 0 {
		text += fmt.Sprintf(", %s at %g a second", minTime(p.Requests, perSecond), perSecond)
	}
	if p.NeverRead > 0 {
		text += fmt.Sprintf("; plus the requests of %s that were never read", humanize.Count(p.NeverRead, "stream"))
	}
	return text
}

// minTime returns "" for a negative number of requests or an unlimited rate.
func minTime(requests int64, perSecond float64) string {
	if perSecond <= 0 || requests < 0 {
		return ""
	}
	shortest := time.Duration(float64(requests) / perSecond * float64(time.Second))
	if shortest < time.Minute {
		return fmt.Sprintf("%.0f s", shortest.Seconds())
	}
	return fmt.Sprintf("%.1f min", shortest.Minutes())
}

func orNone(s string) string { return cmp.Or(s, "(none)") }
