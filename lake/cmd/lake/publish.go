package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

type publishOptions struct {
	all     bool
	replace bool
	views   bool
	format  string
	// unrecorded is set by placementsync, which writes the ledger line itself.
	unrecorded bool
}

func publishCommand(g *globals) *cobra.Command {
	var o publishOptions
	cmd := &cobra.Command{
		Use:   "publish [RUN]",
		Short: "Commit a published night to the lake",
		Long: "Commit all tables of RUN, by default the latest night, to the lake in one step. If the lake\n" +
			"already shows the night, nothing is changed. If the lake shows a later night, the command\n" +
			"fails. All but the newest lake.keep_nights nights are removed, with their files.\n" +
			"--all commits each kept night of the warehouse that is later than the newest night in\n" +
			"the lake, so that readers can select each night by its tag.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runPublish(cmd.Context(), g, o, args) },
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "commit each kept night of the warehouse that is later than the newest night in the lake, oldest first")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "replace the history of another warehouse, for example of a warehouse that was lost without a backup")
	cmd.Flags().BoolVar(&o.views, "views", false, "also install the views of mart for Spark and Trino, if the catalog can store views (REST)")
	cli.AddFormat(cmd, &o.format, "table", "json")
	cmd.Flags().BoolVar(&o.unrecorded, "unrecorded", false, "do not write the ledger line; the calling program writes it")
	return cmd
}

func runPublish(ctx context.Context, g *globals, o publishOptions, args []string) (err error) {
	if o.all && len(args) > 0 {
		return cli.UsageErr("publish takes either a run or --all, not both")
	}
	began := g.Now()
	wh, l, err := g.open(ctx)
	if wh == nil {
		return err
	}
	published := []lake.Published{}
	if err == nil {
		defer func() { err = errors.Join(err, l.Close()) }()
		published, err = publishRuns(ctx, wh, l, o, args)
	}
	if !o.unrecorded {
		err = errors.Join(err, g.recordPublish(ctx, wh, began, args, published, err))
	}
	if err == nil && o.views {
		err = installViews(ctx, g, l)
	}
	return errors.Join(err, g.showResult(o.format, result{map[string]any{"published": published}, describePublished(published)}))
}

// publishRuns publishes nights in order until one fails. published contains the published nights, even
// after an error.
func publishRuns(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, o publishOptions, runs []string) (published []lake.Published, err error) {
	published = []lake.Published{}
	var readErr error // the error of reading an earlier night
	if len(runs) == 0 {
		runs, readErr = runsToPublish(ctx, wh, l, o.all)
		if len(runs) == 0 {
			return published, readErr
		}
	}
	for _, run := range runs {
		p, err := publishRun(ctx, wh, l, run, o.replace)
		if err != nil {
			return published, err
		}
		published = append(published, p)
		if err := l.Finish(ctx, p); err != nil {
			return published, cli.EndWith(ledger.Partial, err)
		}
	}
	if readErr != nil {
		err = cli.EndWith(ledger.Partial, fmt.Errorf("publish earlier nights to the lake: %w; the later nights are published", readErr))
	}
	return published, err
}

// recordPublish records a publish in the ledger, for the status page, metrics and alerts. With the
// argument RUN, only a publish of the newest night is recorded.
func (g *globals) recordPublish(ctx context.Context, wh *warehouse.Warehouse, began time.Time, args []string, published []lake.Published, err error) error {
	latest, ok, readErr := newestNight(wh)
	if readErr != nil || !ok {
		return readErr
	}
	if len(args) > 0 && args[0] != latest {
		return nil // an earlier night
	}
	followUp := ledger.BeginFollowUp(ledger.Lake, version, began)
	for _, p := range published {
		followUp.Version = p.Run
		followUp.Rows += p.Rows
		followUp.Bytes += p.Bytes
	}
	// The user sees a failure on the terminal. An alert is sent only if the lake was behind and
	// is up to date again.
	sender := cli.NewNotifier(g.cfg.Notify, version, g.NewLogger(g.stderr))
	return cli.RecordFollowUp(ctx, wh, sender, followUp.EndFollowUp(ctx, g.Now(), err), notify.Recovered)
}

// newestNight returns the newest published night. The lake does not show refreshes: if readers of the warehouse
// see a refresh, newestNight returns the night on which it builds, if this night is kept. ok is false before the
// first night.
func newestNight(wh *warehouse.Warehouse) (run string, ok bool, err error) {
	latest, ok, err := wh.Versions.Latest()
	if err != nil || !ok {
		return "", false, err
	}
	m, err := wh.Versions.ReadManifest(latest)
	if err != nil || m.Kind != ledger.Refresh {
		return latest, true, nil // opening the version reports a damaged manifest
	}
	lineage, err := wh.Versions.Lineage(latest)
	if err != nil || len(lineage) < 2 {
		return latest, true, err
	}
	return lineage[len(lineage)-2].RunID, true, nil
}

// runsToPublish returns the nights to publish, oldest first: the newest night and, if all is set,
// every kept night later than the night of the lake. An error together with nights means that an
// earlier night cannot be read.
func runsToPublish(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, all bool) ([]string, error) {
	if err := wh.CheckLink(); err != nil {
		return nil, err
	}
	latest, ok, err := newestNight(wh)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("publish to the lake: the warehouse has no published night: run \"placementsync run\" first")
	}
	if !all {
		return []string{latest}, nil
	}
	status, err := l.Status(ctx)
	if err != nil {
		return nil, err
	}
	var runs []string
	lineage, readErr := wh.Versions.Lineage(latest)
	// A night whose own manifest is damaged is not published, although Lineage has read a copy of the
	// manifest. Earlier nights are not published either.
	for i, m := range slices.Backward(lineage) {
		if _, err := wh.Versions.ReadManifest(m.RunID); err != nil {
			readErr, lineage = err, lineage[i+1:]
			break
		}
	}
	for i, m := range lineage {
		isLater := m.SnapshotAt.After(status.SnapshotAt)
		if i == 0 && !isLater {
			readErr = nil // the lake already shows a night that is later than the unreadable night
		}
		if m.RunID == latest || isLater {
			runs = append(runs, m.RunID)
		}
	}
	return runs, readErr
}

func publishRun(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, run string, replace bool) (p lake.Published, err error) {
	v, err := lake.OpenVersion(ctx, wh, run)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return l.Publish(ctx, v, replace)
}

func describePublished(published []lake.Published) string {
	var b strings.Builder
	for _, p := range published {
		if p.AlreadyPublished {
			fmt.Fprintf(&b, "night %s of %s: already in the lake\n", p.Run, p.SnapshotAt.Format(time.RFC3339))
			continue
		}
		fmt.Fprintf(&b, "night %s of %s: %s in one commit, %d replaced, %d extended, %d unchanged; %s written in %.1f s\n",
			p.Run, p.SnapshotAt.Format(time.RFC3339), humanize.Count(p.Tables, "table"), p.Replaced, p.Appended, p.Tables-p.Replaced-p.Appended, humanize.Count(p.Rows, "row"), p.Seconds)
		if p.TagsDropped {
			b.WriteString("note: the catalog of the lake does not keep tags: readers see the newest night and cannot select an earlier night\n")
		}
	}
	return b.String()
}
