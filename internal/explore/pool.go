package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

const (
	// sessions is how many requests of a snapshot are answered side by side; more wait.
	sessions = 4
	// mostStuck is how many queries that DuckDB cannot stop may be at work. Then nothing is
	// asked until one has ended: each has a core and a connection.
	mostStuck = sessions
	// mostEarlier is how many earlier snapshots are open at a time.
	mostEarlier = 2
)

// pool opens snapshots and lends them to requests: the newest, which changes when a
// night is published, and some earlier ones.
type pool struct {
	cfg Config
	// turn is held while the lists change or a snapshot opens.
	turn    chan struct{}
	newest  *snapshot
	earlier []*snapshot // the last used one last
	// stuck counts the queries that DuckDB could not stop and that are still at work.
	stuck atomic.Int32
}

// snapshot is one open snapshot.
type snapshot struct {
	Run string
	At  time.Time
	// Earlier says that the address asked for it.
	Earlier bool
	// Outcome is how its run ended, Standings how sure its streams are, the least first.
	Outcome   string
	Standings []standingCount

	version   Version
	asOf      string
	file      os.FileInfo
	db        *query.DB
	idle      chan *query.DB
	making    sync.Mutex // guards index, stopIndex, failures and retryAt
	index     *index
	stopIndex context.CancelFunc
	// failures counts the indexes that could not be made; retryAt is when to try again.
	failures int
	retryAt  time.Time
	// borrowed counts its requests; dropped: the last one closes it.
	borrowed int
	dropped  bool
}

// standingCount is how many streams stand so.
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

// borrow lends a snapshot, and a handle on it for one request. Both go back by release.
func (p *pool) borrow(ctx context.Context, asOf string) (*snapshot, *query.DB, error) {
	if n := p.stuck.Load(); n >= mostStuck {
		return nil, nil, &statusError{http.StatusServiceUnavailable, fmt.Sprintf("ask the snapshot: %d queries that took too long cannot be stopped and are still at work", n),
			"Try again later. A restart ends them."}
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

// find opens the snapshot unless it is open, and counts the request in.
func (p *pool) find(ctx context.Context, asOf string) (*snapshot, error) {
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
	// A version that was made again has the run of the one before.
	isOld := func(s *snapshot) bool { return s.version != v || !os.SameFile(s.file, file) }
	if p.newest != nil && isOld(p.newest) || slices.ContainsFunc(p.earlier, isOld) {
		p.dropAll()
		p.cfg.Log.Info("snapshot replaced", "run", v.Run)
	}
	s := p.opened(asOf)
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

// opened is the snapshot if it is open, which makes it the last used one.
func (p *pool) opened(asOf string) *snapshot {
	if asOf == "" {
		return p.newest
	}
	i := slices.IndexFunc(p.earlier, func(s *snapshot) bool { return s.asOf == asOf })
	if i < 0 {
		return nil
	}
	s := p.earlier[i]
	p.earlier = append(slices.Delete(p.earlier, i, i+1), s)
	return s
}

// findReplaced is the place of the earlier snapshot that another one replaces; -1: none has
// to go. One in use would stay open, with memory of its own, so none is opened beside it.
func (p *pool) findReplaced(asOf string) (int, error) {
	if asOf == "" || len(p.earlier) < mostEarlier {
		return -1, nil
	}
	idle := slices.IndexFunc(p.earlier, func(s *snapshot) bool { return s.borrowed == 0 })
	if idle < 0 {
		return idle, &statusError{http.StatusServiceUnavailable, fmt.Sprintf("open another snapshot: requests of %d earlier ones are in progress", mostEarlier), "Try again in a moment."}
	}
	return idle, nil
}

func (p *pool) add(s *snapshot, replaced int) {
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

func (p *pool) open(ctx context.Context, v Version, file os.FileInfo, asOf string) (*snapshot, error) {
	db, err := query.Open(ctx, v.Catalog, query.Options{MemoryLimit: p.cfg.MemoryLimit, Threads: p.cfg.Threads, AsOf: asOf, Sessions: sessions,
		Timeout: max(p.cfg.Timeout, downloadTime)})
	if err != nil {
		return nil, err
	}
	s := &snapshot{version: v, asOf: asOf, file: file, db: db, idle: make(chan *query.DB, sessions)}
	if err := s.readFacts(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshot %s: %w", v.Run, err), db.Close())
	}
	for _, one := range db.Sessions() {
		s.idle <- one
	}
	return s, nil
}

// readFacts reads what the foot of every page says.
func (s *snapshot) readFacts(ctx context.Context) error {
	text, err := statements.ReadFile("sql/facts.sql")
	if err != nil {
		return err
	}
	facts, err := s.db.Collect(ctx, query.Text(string(text)), nil, mostRecords)
	if err != nil {
		return err
	}
	_, s.Earlier = s.db.AsOf()
	for _, r := range facts.Rows {
		s.Run, s.Outcome = r.Get("run_id").Text, r.Get("outcome").Text
		if s.At, err = time.Parse(time.RFC3339Nano, r.Get("snapshot_at").Text); err != nil {
			return fmt.Errorf("read mart.snapshot: %w", err)
		}
		if !r.Get("grade").Null {
			s.countStanding(ledger.StandingOf(r.Get("grade").Text))
		}
	}
	return nil
}

// countStanding counts one stream more.
func (s *snapshot) countStanding(standing ledger.Standing) {
	if i := len(s.Standings) - 1; i >= 0 && s.Standings[i].Standing == standing {
		s.Standings[i].Streams++
		return
	}
	s.Standings = append(s.Standings, standingCount{standing, 1})
}

// release ends a request. A handle whose query could not be stopped goes back when that has
// ended.
func (p *pool) release(s *snapshot, db *query.DB) {
	if db == nil || db.Abandoned() == nil {
		p.giveBack(s, db)
		return
	}
	p.stuck.Add(1)
	p.cfg.Log.Warn("query of a page not stopped, it is still at work", "run", s.Run)
	go func() {
		<-db.Abandoned()
		p.stuck.Add(-1)
		p.giveBack(s, db)
	}()
}

// borrowIdle lends a second handle to a request that has the snapshot, if one is free now;
// nil: none is. It goes back by releaseIdle.
func (s *snapshot) borrowIdle() *query.DB {
	select {
	case db := <-s.idle:
		return db
	default:
		return nil
	}
}

// releaseIdle is release for the second handle of a request.
func (p *pool) releaseIdle(s *snapshot, db *query.DB) {
	if db.Abandoned() == nil {
		s.idle <- db
		return
	}
	p.turn <- struct{}{}
	s.borrowed++ // until its query has ended, also when the request has
	p.unlock()
	p.release(s, db)
}

func (p *pool) giveBack(s *snapshot, db *query.DB) {
	if db != nil {
		s.idle <- db
	}
	p.turn <- struct{}{}
	defer p.unlock()
	s.borrowed--
	p.closeUnused(s)
}

// drop takes a snapshot out of use: it closes with its last request.
func (p *pool) drop(s *snapshot) {
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

func (p *pool) closeUnused(s *snapshot) {
	if !s.dropped || s.borrowed > 0 {
		return
	}
	s.stopMaking()
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
