package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

const (
	// maxSessions is the maximum number of concurrent requests for a snapshot. Other requests wait.
	maxSessions = 4
	// New requests are rejected while pool.stuck is at least maxStuck. Each of the counted requests still uses a
	// core and a session.
	maxStuck = maxSessions
	// maxEarlier is the maximum number of open earlier snapshots.
	maxEarlier = 2
)

// pool opens the newest snapshot and earlier snapshots, and lends them to requests. The first
// request after a new version was published drops all open snapshots, see drop.
type pool struct {
	cfg Config
	// turn guards open, and the fields borrowed and dropped of each snapshot. It is a channel and
	// not a mutex, so that waiting for it can be cancelled.
	turn chan struct{}
	open []*openSnapshot // the most recently borrowed is last
	// stuck counts the ended requests whose query is still running, because DuckDB cannot interrupt it.
	stuck atomic.Int32
}

type openSnapshot struct {
	// Run and At are the id of the run and the time of the snapshot.
	Run string
	At  time.Time
	// Earlier is true if as_of chose the snapshot.
	Earlier bool
	// Outcome is the outcome of the run. Standings counts the streams of the snapshot by standing,
	// the worst standing first.
	Outcome   string
	Standings []standingCount

	version Version
	asOf    string      // as_of in the address. Empty means the newest snapshot.
	file    os.FileInfo // version.Catalog, to detect a replaced file
	db      *query.DB
	idle    chan *query.DB // the sessions that no request uses
	// isPrepared means that the in-memory tables of the catalog page exist. preparing guards it.
	preparing  chan struct{}
	isPrepared bool
	// borrowed counts the requests that use the snapshot. If the snapshot is dropped, it is closed
	// when borrowed becomes 0.
	borrowed int
	dropped  bool
}

// standingCount is the number of streams with a standing.
type standingCount struct {
	Standing ledger.Standing
	Streams  int
}

func (p *pool) lock(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the snapshot: %w", ctx.Err())
	}
}

func (p *pool) unlock() { <-p.turn }

// borrow returns a snapshot and a session for one request. The caller gives them back with release.
func (p *pool) borrow(ctx context.Context, asOf string) (*openSnapshot, *query.DB, error) {
	if n := p.stuck.Load(); n >= maxStuck {
		return nil, nil, &statusError{http.StatusServiceUnavailable, fmt.Sprintf("too many queries are still running after their time limit (%d)", n),
			"Try again later. A restart of the program ends them."}
	}
	s, err := p.acquire(ctx, asOf)
	if err != nil {
		return nil, nil, err
	}
	select {
	case db := <-s.idle:
		return s, db, nil
	case <-ctx.Done():
		p.release(s, nil)
		return nil, nil, fmt.Errorf("wait for a free session: %w", ctx.Err())
	}
}

// acquire returns a snapshot and adds 1 to its field borrowed. It opens the snapshot if necessary.
func (p *pool) acquire(ctx context.Context, asOf string) (*openSnapshot, error) {
	if err := p.lock(ctx); err != nil {
		return nil, err
	}
	defer p.unlock()
	v, err := p.cfg.Newest()
	if err != nil {
		return nil, &statusError{http.StatusServiceUnavailable, err.Error(), ""}
	}
	file, err := os.Stat(v.Catalog)
	if err != nil {
		return nil, fmt.Errorf("open snapshot %s: %w", v.Run, err)
	}
	// A rebuild keeps the run id of a version, so the files are compared too.
	if slices.ContainsFunc(p.open, func(s *openSnapshot) bool { return s.version != v || !os.SameFile(s.file, file) }) {
		p.dropAll()
		p.cfg.Log.Info("snapshot replaced", "run", v.Run)
	}
	if i := slices.IndexFunc(p.open, func(s *openSnapshot) bool { return s.asOf == asOf }); i >= 0 {
		s := p.open[i]
		p.open = append(slices.Delete(p.open, i, i+1), s)
		s.borrowed++
		return s, nil
	}
	evicted, err := p.findEvicted(asOf)
	if err != nil {
		return nil, err
	}
	s, err := openVersion(ctx, p.cfg, v, file, asOf)
	if err != nil {
		return nil, err
	}
	if evicted != nil {
		p.drop(evicted)
		p.open = slices.DeleteFunc(p.open, func(s *openSnapshot) bool { return s == evicted })
	}
	p.open = append(p.open, s)
	s.borrowed++
	return s, nil
}

// findEvicted returns the earlier snapshot to close before the snapshot of asOf is opened, or nil. It returns an
// error if requests use all maxEarlier earlier snapshots, because each open snapshot needs memory.
func (p *pool) findEvicted(asOf string) (*openSnapshot, error) {
	earlier := slices.DeleteFunc(slices.Clone(p.open), func(s *openSnapshot) bool { return s.asOf == "" })
	if asOf == "" || len(earlier) < maxEarlier {
		return nil, nil
	}
	unused := slices.IndexFunc(earlier, func(s *openSnapshot) bool { return s.borrowed == 0 })
	if unused < 0 {
		return nil, &statusError{http.StatusServiceUnavailable, fmt.Sprintf("%d earlier snapshots are already open and in use", maxEarlier), "Try again in a moment."}
	}
	return earlier[unused], nil
}

// openVersion opens the snapshot that asOf chooses from the catalog file of v. An empty asOf means the
// newest snapshot.
func openVersion(ctx context.Context, cfg Config, v Version, file os.FileInfo, asOf string) (*openSnapshot, error) {
	db, err := query.Open(ctx, v.Catalog, query.Options{MemoryLimit: cfg.MemoryLimit, Threads: cfg.Threads, Timezone: cfg.Timezone, AsOf: asOf, Sessions: maxSessions,
		Timeout: max(cfg.Timeout, minSlowTimeout)})
	if err != nil {
		return nil, err
	}
	s := &openSnapshot{version: v, asOf: asOf, file: file, db: db, idle: make(chan *query.DB, maxSessions), preparing: make(chan struct{}, 1)}
	if err := s.readFacts(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshot %s: %w", v.Run, err), db.Close())
	}
	for _, session := range db.Sessions() {
		s.idle <- session
	}
	return s, nil
}

// readFacts reads the fields that the footer of all pages shows.
func (s *openSnapshot) readFacts(ctx context.Context) error {
	facts, err := s.db.Collect(ctx, query.Text(string(recordSQL.Render("facts", nil))), nil, maxRows)
	if err != nil {
		return err
	}
	_, s.Earlier = s.db.AsOf()
	for _, r := range facts.Rows {
		s.Run, s.Outcome = r.Get("run_id").Text, r.Get("outcome").Text
		if s.At, err = time.Parse(time.RFC3339Nano, r.Get("snapshot_at").Text); err != nil {
			return fmt.Errorf("read mart.snapshot: %w", err)
		}
		stream := ledger.Stream{Grade: r.Get("grade").Text, Reason: r.Get("reason").Text}
		if r.Get("grade").Null || stream.IsUnused() {
			continue
		}
		standing := ledger.StandingOf(stream.Grade)
		if i := len(s.Standings) - 1; i >= 0 && s.Standings[i].Standing == standing {
			s.Standings[i].Streams++
		} else {
			s.Standings = append(s.Standings, standingCount{standing, 1})
		}
	}
	return nil
}

// release gives the snapshot and the session of a request back to the pool. If a query of the session is
// still running, other requests get the session when the query has ended. db is nil if the request got no
// session.
func (p *pool) release(s *openSnapshot, db *query.DB) {
	if db == nil || len(db.Abandoned()) == 0 {
		p.giveBack(s, db)
		return
	}
	p.stuck.Add(1)
	p.cfg.Log.Warn("query of a page still running after its time limit", "run", s.Run)
	go func() {
		for _, ended := range db.Abandoned() {
			<-ended
		}
		p.stuck.Add(-1)
		p.giveBack(s, db)
	}()
}

func (p *pool) giveBack(s *openSnapshot, db *query.DB) {
	if db != nil {
		s.idle <- db
	}
	p.turn <- struct{}{}
	defer p.unlock()
	s.borrowed--
	p.closeUnused(s)
}

// drop closes a snapshot as soon as no request uses it.
func (p *pool) drop(s *openSnapshot) {
	s.dropped = true
	p.closeUnused(s)
}

func (p *pool) dropAll() {
	for _, s := range p.open {
		p.drop(s)
	}
	p.open = nil
}

func (p *pool) closeUnused(s *openSnapshot) {
	if !s.dropped || s.borrowed > 0 {
		return
	}
	s.preparing <- struct{}{} // wait until the tables of the catalog are created
	if err := s.db.Close(); err != nil {
		p.cfg.Log.Warn("snapshot not closed", "run", s.Run, "error", err)
	}
}

func (p *pool) close() error {
	p.turn <- struct{}{}
	defer p.unlock()
	p.dropAll()
	return nil
}
