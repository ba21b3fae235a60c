// Package report makes one HTML page of a snapshot: headline numbers and how
// they moved, prices, commissions, articles and how good the data is. Every number
// on it names its query. The workbench shows the page; Write writes it as one file
// that loads nothing.
//
// It must not know where the snapshots are: the caller asks them.
package report

import (
	"context"
	"fmt"
	"io"
	"time"

	"placementsync/internal/query"
)

// Question names a query and how to run it.
type Question struct {
	// Query is the name of a file under queries, without its ending.
	Query string
	// Params are the values that differ from the query's defaults.
	Params map[string]string
	// AsOf is the time to answer for. Zero is that of the newest snapshot.
	AsOf time.Time
	// Rows is how many rows the result holds at most.
	Rows int
}

// Ask answers a question with a result and its sources. ok is false where the snapshot
// lacks a table or column, as one of an earlier program may; the page says so in place.
type Ask func(ctx context.Context, q Question) (r query.Result, ok bool, err error)

// Options say how the page speaks of its surroundings.
type Options struct {
	// Program is how a shown command begins, flags included, such as
	// "placementsync --config demo/config.yaml". It is shown, never run.
	Program string
	// Questions is the address below which each named query has a page, such as
	// "/explore/questions/"; empty: there are no such pages.
	Questions string
}

// Build asks for everything. The same snapshot gives the same page: no clock is read, times
// are those of snapshots.
func Build(ctx context.Context, ask Ask, opts Options) (Page, error) {
	b := &builder{ctx: ctx, ask: ask, opts: opts}
	content, err := b.buildPage()
	if err != nil {
		return content, fmt.Errorf("make the report: %w", err)
	}
	return content, nil
}

// Write writes the page as one file that loads nothing.
func Write(ctx context.Context, w io.Writer, ask Ask, opts Options) error {
	content, err := Build(ctx, ask, opts)
	if err != nil {
		return err
	}
	if err := renderFile(w, content); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// AskDB is an Ask of one snapshot, whose time the question must have.
func AskDB(ctx context.Context, db *query.DB, q Question) (r query.Result, ok bool, err error) {
	named, err := query.Resolve(q.Query)
	if err != nil {
		return r, false, err
	}
	if r, err = db.Ask(ctx, named, q.Params, q.Rows); query.IsMissing(err) {
		return r, false, nil
	}
	return r, err == nil, err
}

// builder collects what the sections need while the page is made.
type builder struct {
	ctx  context.Context
	ask  Ask
	opts Options
	now  moments
	// currencies are those of the answers, as they are found.
	currencies []string
}

// askIfPresent asks; ok is that of Ask.
func (b *builder) askIfPresent(q Question) (a answer, ok bool, err error) {
	r, ok, err := b.ask(b.ctx, q)
	return answer{Result: r, lacking: map[string]bool{}}, ok, err
}
