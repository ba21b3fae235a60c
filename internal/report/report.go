// Package report makes one HTML page of a snapshot: headline numbers and how
// they moved, prices, commissions, articles and how good the data is. The page
// is a single file that loads nothing; every number on it names its query.
//
// It must not know how a query is run: it asks through a function and gets columns
// and texts.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Question names a query and how to run it.
type Question struct {
	// Query is the name of a file under queries, without its ending.
	Query string
	// Params are the values that differ from the query's defaults.
	Params []Param
	// AsOf is the time to answer for; zero: that of the newest snapshot.
	AsOf time.Time
	// Rows is how many rows are kept of the answer; Answer.Total counts all.
	Rows int
}

// Param is the value of one parameter, as text.
type Param struct{ Name, Value string }

// Ask answers a question. When the snapshot lacks a table or column that the
// query reads, the error is a *MissingError, and the page says so in place.
type Ask func(ctx context.Context, q Question) (Answer, error)

// MissingError says that the snapshot does not hold what a query reads, as one
// that an earlier program wrote may not.
type MissingError struct {
	Query string
	Err   error
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("ask %q: the snapshot lacks what it reads: %v", e.Query, e.Err)
}

func (e *MissingError) Unwrap() error { return e.Err }

// Options say how the page speaks of its surroundings.
type Options struct {
	// Program is how a shown command begins, flags included, such as
	// "placementsync --config demo/config.yaml". It is shown, never run.
	Program string
	// Questions is the address below which each named query has a page, such as
	// "/explore/questions/"; empty: there are no such pages.
	Questions string
}

// Write asks for everything and writes the page. The same snapshot gives the
// same bytes: no clock is read, times are those of snapshots.
func Write(ctx context.Context, w io.Writer, ask Ask, opts Options) error {
	b := &builder{ctx: ctx, ask: ask, opts: opts}
	page, err := b.buildPage()
	if err != nil {
		return fmt.Errorf("make the report: %w", err)
	}
	if err := renderPage(w, page); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// builder collects what the sections need while the page is made.
type builder struct {
	ctx  context.Context
	ask  Ask
	opts Options
	now  moments
	// currencies are those of the answers, as they are found.
	currencies []string
	charts     []Chart
}

// askIfPresent asks; ok is false when the snapshot lacks what the query reads.
func (b *builder) askIfPresent(q Question) (a Answer, ok bool, err error) {
	a, err = b.ask(b.ctx, q)
	var missing *MissingError
	if errors.As(err, &missing) {
		return Answer{}, false, nil
	}
	a.lacking = map[string]bool{}
	return a, err == nil, err
}
