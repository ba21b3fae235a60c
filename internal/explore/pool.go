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
	// sessions is the number of concurrent requests for a snapshot. More requests wait.
	sessions = 4
	// maxStuck is the number of queries running after their time limit at which new requests
	// are rejected: each of them uses a core and a session.
	maxStuck = sessions
	// maxEarlier is the number of earlier snapshots that can be open.
	maxEarlier = 2
)

// pool opens snapshots and lends them to requests: the newest one, which a published night
// replaces, and earlier ones.
type pool struct {
	cfg Config
	// turn is a mutex for newest, earlier and the borrowed snapshots. Waiting for it can be
	// cancelled.
	turn    chan struct{}
	newest  *openSnapshot
	earlier []*openSnapshot // the most recently used is last
	// stuck counts the queries that DuckDB cannot interrupt and that are still running.
	stuck atomic.Int32
}

// openSnapshot is an open snapshot.
type openSnapshot struct {
	Run string
	At  time.Time
	// Earlier is true if as_of chose the snapshot.
	Earlier bool
	// Outcome is the outcome of its run. Standings counts its streams by standing, the worst
	// first.
	Outcome   string
	Standings []standingCount

	version Version
	asOf    string
	file    os.FileInfo
	db      *query.DB
	idle    chan *query.DB
	index   catalogIndex
	// borrowed counts requests. A dropped snapshot is closed when its last request ends.
	borrowed int
	dropped  bool
}

// standingCount is the number of streams with a standing.
type standingCount struct {
	Standing ledger.Standing
	Streams  int
}

func newPool(cfg Config) *pool { return &pool{cfg: cfg, turn: make(chan struct{}, 1)} }

func (p *pool) lock(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the snapshot: %w", ctx.Err())
	}
}

func (p *pool) unlock() { <-p.turn }

// borrow returns a snapshot and a handle for one request. The caller returns them with release.
func (p *pool) borrow(ctx context.Context, asOf string) (*openSnapshot, *query.DB, error) {
	if n := p.stuck.Load(); n >= maxStuck {
		return nil, nil, &statusError{http.StatusServiceUnavailable, fmt.Sprintf("query the snapshot: %d queries are still running after their time limit", n),
			"Try again later. A restart of the program ends them."}
	}
	s, err := p.find(ctx, asOf)
	if err != nil {
		return nil, nil, err
	}
	select {
	case db := <-s.idle:
		return s, db, nil
	case <-ctx.Done():
		p.release(s, nil)
		return nil, nil, fmt.Errorf("wait for a free connection: %w", ctx.Err())
	}
}

// find returns the snapshot, which it opens if necessary, and counts the request.
func (p *pool) find(ctx context.Context, asOf string) (*openSnapshot, error) {
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
	// A rebuilt version has the same run id.
	isOld := func(s *openSnapshot) bool { return s.version != v || !os.SameFile(s.file, file) }
	if p.newest != nil && isOld(p.newest) || slices.ContainsFunc(p.earlier, isOld) {
		p.dropAll()
		p.cfg.Log.Info("snapshot replaced", "run", v.Run)
	}
	s := p.findOpen(asOf)
	if s == nil {
		replaced, err := p.findReplaced(asOf)
		if err != nil {
			return nil, err
		}
		if s, err = p.open(ctx, v, file, asOf); err != nil {
			return nil, err
		}
		p.add(s, replaced)
	}
	s.borrowed++
	return s, nil
}

// findOpen returns a snapshot if it is open, and marks it as the most recently used.
func (p *pool) findOpen(asOf string) *openSnapshot {
	if asOf == "" {
		return p.newest
	}
	i := slices.IndexFunc(p.earlier, func(s *openSnapshot) bool { return s.asOf == asOf })
	if i < 0 {
		return nil
	}
	s := p.earlier[i]
	p.earlier = append(slices.Delete(p.earlier, i, i+1), s)
	return s
}

// findReplaced returns the index of the earlier snapshot to close before another one is opened.
// It is -1 if none must be closed. Snapshots in use are not closed: if all are in use, no other
// is opened, because each needs its own memory.
func (p *pool) findReplaced(asOf string) (int, error) {
	if asOf == "" || len(p.earlier) < maxEarlier {
		return -1, nil
	}
	idle := slices.IndexFunc(p.earlier, func(s *openSnapshot) bool { return s.borrowed == 0 })
	if idle < 0 {
		return idle, &statusError{http.StatusServiceUnavailable, fmt.Sprintf("open another snapshot: requests for %d earlier ones are in progress", maxEarlier), "Try again in a moment."}
	}
	return idle, nil
}

func (p *pool) add(s *openSnapshot, replaced int) {
	if s.asOf == "" {
		p.newest = s
		return
	}
	if replaced >= 0 {
		p.drop(p.earlier[replaced])
		p.earlier = slices.Delete(p.earlier, replaced, replaced+1)
	}
	p.earlier = append(p.earlier, s)
}

func (p *pool) open(ctx context.Context, v Version, file os.FileInfo, asOf string) (*openSnapshot, error) {
	db, err := query.Open(ctx, v.Catalog, query.Options{MemoryLimit: p.cfg.MemoryLimit, Threads: p.cfg.Threads, Timezone: p.cfg.Timezone, AsOf: asOf, Sessions: sessions,
		Timeout: max(p.cfg.Timeout, downloadTime)})
	if err != nil {
		return nil, err
	}
	s := &openSnapshot{version: v, asOf: asOf, file: file, db: db, idle: make(chan *query.DB, sessions)}
	if err := s.readFacts(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshot %s: %w", v.Run, err), db.Close())
	}
	for _, one := range db.Sessions() {
		s.idle <- one
	}
	return s, nil
}

// readFacts reads the fields for the footer of all pages.
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
		grade := ledger.Stream{Grade: r.Get("grade").Text, Reason: r.Get("reason").Text}
		if !r.Get("grade").Null && !grade.IsUnused() {
			s.countStanding(ledger.StandingOf(r.Get("grade").Text))
		}
	}
	return nil
}

func (s *openSnapshot) countStanding(standing ledger.Standing) {
	if i := len(s.Standings) - 1; i >= 0 && s.Standings[i].Standing == standing {
		s.Standings[i].Streams++
		return
	}
	s.Standings = append(s.Standings, standingCount{standing, 1})
}

// release returns the snapshot and the handle of a request. If a query of the handle is still
// running, release returns the handle when the query has ended.
func (p *pool) release(s *openSnapshot, db *query.DB) {
	if db == nil || db.Abandoned() == nil {
		p.giveBack(s, db)
		return
	}
	p.stuck.Add(1)
	p.cfg.Log.Warn("query of a page still running after its time limit", "run", s.Run)
	go func() {
		<-db.Abandoned()
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

// drop closes a snapshot when its last request has ended.
func (p *pool) drop(s *openSnapshot) {
	s.dropped = true
	p.closeUnused(s)
}

func (p *pool) dropAll() {
	if p.newest != nil {
		p.drop(p.newest)
	}
	for _, s := range p.earlier {
		p.drop(s)
	}
	p.newest, p.earlier = nil, nil
}

func (p *pool) closeUnused(s *openSnapshot) {
	if !s.dropped || s.borrowed > 0 {
		return
	}
	s.index.stop()
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
