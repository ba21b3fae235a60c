// Package report creates the report of a snapshot: findings that need attention, headline numbers
// with their changes, prices, commissions, articles and data quality. It is a page of the workbench, and Write
// writes it as a single offline file.
//
// The package must not know where snapshots are stored: the caller runs the queries.
package report

import (
	"context"
	"embed"
	"fmt"
	"io"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// QuerySpec specifies a named query with its parameters and its snapshot.
type QuerySpec struct {
	Query  string
	Params map[string]string
	AsOf   time.Time // of the snapshot; zero means the snapshot of the report
}

const maxRows = 2000 // of a result

// Ask runs a query and returns its result with the source tables. ok is false if the snapshot lacks a
// table or column that the query reads. This can happen if an older release created the snapshot.
type Ask func(ctx context.Context, q QuerySpec) (r query.Result, ok bool, err error)

// Options contains settings, texts and addresses of the page.
type Options struct {
	// Program is the beginning of shown commands, such as
	// "placementsync --config demo/config.yaml". It is never run.
	Program string
	// Earlier means that the snapshot is not the newest, so that commands need --as-of. Held means
	// that the snapshot is a held night. The caller then adds --held to Program.
	Earlier, Held bool
	Notices       []Notice // shown first
	// Timezone is the time zone in which the weeks and months of the queries begin, such as Europe/Berlin. Empty means
	// UTC.
	Timezone string
	// Client, if its ID is set, is the profile for which the page is made. The page then has only numbers of this
	// client, and no costs, margins, commissions, commands or reasons of the service, so that it can be sent.
	Client Client
	// QueryPages is the address of the pages of named queries, such as "/explore/questions/". Empty means
	// that numbers have no links.
	QueryPages string
}

// Client is a client profile.
type Client struct{ ID, Name string }

// Build runs the queries and returns the page. It depends only on the snapshot and not on the
// current time.
func Build(ctx context.Context, ask Ask, opts Options) (Page, error) {
	b := &builder{ctx: ctx, ask: ask, opts: opts}
	content, err := b.buildPage()
	if err != nil {
		return content, fmt.Errorf("build the report: %w", err)
	}
	return content, nil
}

// Write writes the page as a single offline file.
func Write(ctx context.Context, w io.Writer, ask Ask, opts Options) error {
	content, err := Build(ctx, ask, opts)
	if err != nil {
		return err
	}
	page := struct {
		html.Frame
		Data Page
	}{html.Frame{Title: opts.title(content.Snapshot), Name: "report", Scripts: append([]string{"page.js"}, Scripts()...)}, content}
	page.Inline, err = html.ReadAssets(files)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	t, err := html.Parse(files, nil, "assets/report.html", "assets/filefooter.html")
	if err == nil {
		err = html.Render(w, t, page)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// title names the client if its name is known, and this program if there is no client.
func (opts Options) title(snapshot string) string {
	switch {
	case opts.Client.Name != "":
		return "Report for " + opts.Client.Name + ", " + snapshot + " UTC"
	case opts.Client.ID != "":
		return "Report " + snapshot + " UTC"
	}
	return "placementsync report " + snapshot + " UTC"
}

//go:embed assets
var files embed.FS

// Files contains the template assets/report.html, whose data has a field Data of type Page, and
// the script assets/report.js.
func Files() embed.FS { return files }

// Scripts lists the scripts of the page, except for page.js, which all pages have.
func Scripts() []string { return append(html.ChartScripts(), "report.js") }

// AskDB runs a query on an open snapshot and keeps at most maxRows rows. It ignores q.AsOf: the caller has
// opened the snapshot of that time.
func AskDB(ctx context.Context, db *query.DB, q QuerySpec) (r query.Result, ok bool, err error) {
	namedQuery, err := query.Resolve(q.Query)
	if err != nil {
		return r, false, err
	}
	if r, err = db.Ask(ctx, namedQuery, q.Params, maxRows); query.IsMissing(err) {
		return r, false, nil
	}
	return r, err == nil, err
}

type builder struct {
	ctx       context.Context
	ask       Ask
	opts      Options
	snapshots snapshots
	unused    []ledger.Problem // see Panel.Unused
	notRead   []ledger.Problem // one for each shown stream without rows, also for unused streams
	// currencies are the currencies in the results of the panels that were built so far.
	currencies []string
	problems   []ledger.Problem // of the source tables of these panels
}
