package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/audit"
	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

type auditOptions struct {
	list, show bool
	asOf       string
	output     outputOptions
}

func auditCommand(g *globals) *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "audit [NAME ...]",
		Short: "Run the checks on a published snapshot",
		Long: "Run the checks on a published snapshot. Some checks compare it with the previous snapshot. NAME\n" +
			"selects checks (see --list). A check is SQL that returns violating rows. checks.dir in the configuration is the\n" +
			"folder of your own checks, and checks.rules changes severities and parameters.\n\n" +
			cli.Meanings{Complete: "every check passed, or was skipped because it had nothing to compare", Failed: "a check of severity \"hold\" failed",
				Partial: "a check of severity \"warn\" failed, or a check did not run"}.Table(),
		RunE: func(cmd *cobra.Command, args []string) error { return runAudit(cmd.Context(), g, o, args) },
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			all, _ := query.LoadChecks("")
			var names []string
			for _, q := range all.List() {
				names = append(names, q.Name)
			}
			return propose(names, typed)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.list, "list", false, "list the checks, or explain the named ones")
	f.BoolVar(&o.show, "show", false, "print all violating rows of one named check")
	addAsOfFlag(cmd, g, &o.asOf)
	addHeldFlag(cmd, g)
	o.output.addFlags(cmd)
	return cmd
}

func runAudit(ctx context.Context, g *globals, o auditOptions, names []string) (err error) {
	cfg, err := g.loadConfig("warehouse", "retention", "checks", "privacy", "statuses")
	if err != nil {
		return err
	}
	set, err := loadChecks(cfg)
	if err != nil {
		return err
	}
	format, err := o.output.parseFormat()
	if err != nil {
		return err
	}
	if set, err = set.Choose(names); err != nil {
		return err
	}
	switch {
	case o.list:
		if len(names) > 0 {
			return explainChecks(g.screen(), set.List())
		}
		return listChecks(g.screen(), set.List(), g.width)
	case o.show && len(names) != 1:
		return cli.UsageErr("--show needs the name of one check: see --list")
	case !o.show && (format != query.Table && format != query.JSON || o.output.file != ""):
		return cli.UsageErr("the results of an audit are printed as table or json; --show prints rows in any format")
	}
	private, err := privateColumns(cfg)
	if err != nil {
		return err
	}
	previous := query.Before{Hidden: private}
	if o.asOf == "" {
		if previous.Catalog, err = previousCatalog(g.newWarehouse(cfg), g.held); err != nil {
			return err
		}
	}
	db, err := openCatalog(ctx, g, query.Options{AsOf: o.asOf, Timeout: cfg.Checks.Timeout, Before: &previous})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if o.show {
		q, values, skipReason, err := set.Prepare(ctx, db, names[0])
		if err == nil && skipReason != "" {
			fmt.Fprintf(g.stderr, "check %s was skipped: %s\n", names[0], skipReason)
			return nil
		}
		if err == nil {
			_, err = o.output.writeResult(ctx, g, db, format, q, values)
		}
		return explainDamage(g, err)
	}
	results, err := set.Run(ctx, db)
	if err != nil {
		return explainDamage(g, err)
	}
	if format == query.JSON {
		err = cli.WriteJSON(g.stdout, results)
	} else {
		err = showCheckResults(g.stdout, results, g.width)
	}
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(results, ledger.CheckResult.HoldsNight):
		return cli.EndWith(ledger.Failed, nil)
	case slices.ContainsFunc(results, ledger.CheckResult.NeedsAttention):
		return cli.EndWith(ledger.Partial, nil)
	}
	return nil
}

// previousCatalog returns the path of the catalog on which the newest version or the held night was built. It
// returns "" if that catalog is missing or damaged; the previous rows are then read from the history.
func previousCatalog(wh *warehouse.Warehouse, isHeld bool) (string, error) {
	latest, ok, err := wh.Versions.Latest()
	if err != nil || !ok {
		return "", err
	}
	m, err := wh.Versions.ReadManifest(latest)
	if isHeld {
		var h warehouse.HeldNight
		h, err = findHeld(wh)
		m = h.Manifest
	}
	if err != nil || m.Previous == "" || wh.Versions.VerifyCatalog(m.Previous) != nil {
		return "", nil // a damaged manifest is reported when the snapshot is opened
	}
	return wh.Folder.VersionCatalog(m.Previous), nil
}

func loadChecks(cfg config.Config) (audit.Set, error) {
	private, err := privateColumns(cfg)
	if err != nil {
		return audit.Set{}, err
	}
	set, err := audit.Load(cfg.Checks.Dir, cli.ConfiguredRules(cfg.Checks), private)
	if faulty, ok := errors.AsType[*query.FilesError](err); ok {
		err = cli.UsageErr("load the user-defined checks:\n  %s", query.EscapeLines(strings.Join(faulty.Problems, "\n  ")))
	}
	return set, err
}

func privateColumns(cfg config.Config) ([]string, error) {
	return pipeline.PrivateColumns(transform.Privacy{Drop: cfg.Privacy.Drop, Hash: cfg.Privacy.Hash})
}

func showCheckResults(w io.Writer, results []ledger.CheckResult, width int) error {
	t := &textTable{columns: []column{{name: "check"}, {name: "severity", drop: 2}, {name: "outcome"}, {name: "rows", isNumber: true},
		{name: "seconds", isNumber: true, drop: 3}, {name: "why", drop: 1, minWidth: 24}}}
	for _, r := range results {
		t.addRow(r.Name, r.Severity, r.Outcome, r.Rows, fmt.Sprintf("%.2f", r.Seconds), r.Reason)
	}
	if _, err := fmt.Fprintln(w, t.render(width)); err != nil {
		return err
	}
	for _, r := range results {
		if r.Outcome != ledger.CheckFailed {
			continue
		}
		lines := []string{"", fmt.Sprintf("%s (%s): %s", r.Title, r.Name, humanize.Count(r.Rows, "row"))}
		for _, row := range r.SampleLines() {
			lines = append(lines, "  "+row)
		}
		if _, err := fmt.Fprintln(w, query.EscapeLines(strings.Join(lines, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

func listChecks(w io.Writer, all []query.Query, width int) error {
	t := &textTable{columns: []column{{name: "check"}, {name: "severity"}, {name: "title", drop: 1, minWidth: 24}, {name: "file", drop: 2}}}
	for _, q := range all {
		t.addRow(q.Name, q.Severity, q.Title, q.File)
	}
	_, err := fmt.Fprintln(w, t.render(width))
	return err
}

func explainChecks(w io.Writer, all []query.Query) error {
	for i, q := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := query.Explain(w, q); err != nil {
			return err
		}
	}
	return nil
}
