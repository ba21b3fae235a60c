package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/stream"
)

const (
	// maxSessions is the maximum number of concurrent requests for a snapshot. Other requests wait.
	maxSessions = 4
	maxEarlier  = 2 // open earlier snapshots
)

// pool opens the newest snapshot and earlier snapshots, and lends them to requests. The first
// request after a new version was published removes all open snapshots.
type pool struct {
	cfg Config
	// turn is the lock of open, and of the field users of each snapshot. It is a channel, because waiting for a mutex
	// cannot be cancelled.
	turn chan struct{}
	open []*openSnapshot
}

type openSnapshot struct {
	Run string
	At  time.Time
	// AsOf is the parameter as_of of the address. Empty means the newest snapshot.
	AsOf      string
	Outcome   string          // of the run
	Standings []standingCount // of its streams, the worst standing first

	version Version
	file    os.FileInfo // version.Catalog, to detect a replaced file
	db      *query.DB
	idle    chan *query.DB // the sessions that no request uses
	// users is the number of requests that use the snapshot, plus 1 while pool.open contains the snapshot. The
	// snapshot is closed when users becomes 0.
	users int
}

type standingCount struct {
	Standing ledger.Standing
	Streams  int
}

// borrow returns a snapshot and a session. The caller gives them back with giveBack.
func (p *pool) borrow(ctx context.Context, asOf string) (*openSnapshot, *query.DB, error) {
	s, err := p.addUser(ctx, asOf)
	if err != nil {
		return nil, nil, err
	}
	select {
	case db := <-s.idle:
		return s, db, nil
	case <-ctx.Done():
		p.removeUser(s)
		return nil, nil, fmt.Errorf("wait for a free session: %w", ctx.Err())
	}
}

// addUser returns a snapshot and adds 1 to its field users. It opens the snapshot if necessary.
func (p *pool) addUser(ctx context.Context, asOf string) (*openSnapshot, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the snapshot: %w", ctx.Err())
	}
	v, err := p.cfg.ShownVersion()
	if err != nil {
		return nil, &statusError{http.StatusServiceUnavailable, err.Error(), ""}
	}
	file, err := os.Stat(v.Catalog)
	if err != nil {
		return nil, fmt.Errorf("open snapshot %s: %w", v.Run, err)
	}
	// A rebuild keeps the run id of a version, so the files are compared too.
	if slices.ContainsFunc(p.open, func(s *openSnapshot) bool { return s.version != v || !os.SameFile(s.file, file) }) {
		p.removeAll()
		p.cfg.Log.Info("snapshot replaced", "run", v.Run)
	}
	if i := slices.IndexFunc(p.open, func(s *openSnapshot) bool { return s.AsOf == asOf }); i >= 0 {
		p.open[i].users++
		return p.open[i], nil
	}
	if asOf != "" {
		if err := p.makeRoom(); err != nil {
			return nil, err
		}
	}
	s, err := openVersion(ctx, p.cfg, v, file, asOf)
	if err != nil {
		return nil, err
	}
	p.open = append(p.open, s)
	s.users = 2 // this request and p.open
	return s, nil
}

// makeRoom closes an unused earlier snapshot if maxEarlier are open. It returns an error if requests use all
// of them, because each open snapshot needs memory.
func (p *pool) makeRoom() error {
	earlier := slices.DeleteFunc(slices.Clone(p.open), func(s *openSnapshot) bool { return s.AsOf == "" })
	if len(earlier) < maxEarlier {
		return nil
	}
	unused := slices.IndexFunc(earlier, func(s *openSnapshot) bool { return s.users == 1 })
	if unused < 0 {
		return &statusError{http.StatusServiceUnavailable, fmt.Sprintf("%d earlier snapshots are already open and in use", maxEarlier), "Try again in a moment."}
	}
	p.open = slices.DeleteFunc(p.open, func(s *openSnapshot) bool { return s == earlier[unused] })
	p.removeUserInTurn(earlier[unused])
	return nil
}

func openVersion(ctx context.Context, cfg Config, v Version, file os.FileInfo, asOf string) (*openSnapshot, error) {
	db, err := query.Open(ctx, v.Catalog, query.Options{
		MemoryLimit: cfg.MemoryLimit, Threads: cfg.Threads, Settings: cfg.Settings,
		AsOf: asOf, Sessions: maxSessions, Timeout: max(cfg.Timeout, minSlowTimeout),
	})
	if err != nil {
		return nil, err
	}
	s := &openSnapshot{version: v, AsOf: asOf, file: file, db: db, idle: make(chan *query.DB, maxSessions)}
	if err := s.readFacts(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open snapshot %s: %w", v.Run, err), db.Close())
	}
	for _, session := range db.Sessions() {
		s.idle <- session
	}
	return s, nil
}

// readFacts reads the exported fields, which the footer of all pages shows.
func (s *openSnapshot) readFacts(ctx context.Context) error {
	facts, err := s.db.Collect(ctx, query.Text(string(recordSQL.Render("facts", nil))), nil, maxRows)
	if err != nil {
		return err
	}
	if len(facts.Rows) == 0 {
		return nil
	}
	first := facts.Rows[0] // the columns of the snapshot are the same in all rows
	s.Run, s.Outcome = first.Get("run_id").Text, first.Get("outcome").Text
	if s.At, err = time.Parse(time.RFC3339Nano, first.Get("snapshot_at").Text); err != nil {
		return fmt.Errorf("read mart.snapshot: %w", err)
	}
	// The rows are sorted by grade, so streams with the same standing follow one another.
	for _, r := range facts.Rows {
		streamRow := ledger.Stream{Grade: stream.Grade(r.Get("grade").Text), Reason: r.Get("reason").Text}
		if r.Get("grade").Null || streamRow.IsUnused() {
			continue
		}
		standing := ledger.StandingOf(streamRow.Grade)
		if n := len(s.Standings); n == 0 || s.Standings[n-1].Standing != standing {
			s.Standings = append(s.Standings, standingCount{Standing: standing})
		}
		s.Standings[len(s.Standings)-1].Streams++
	}
	return nil
}

// giveBack returns the snapshot and the session of a request to the pool.
func (p *pool) giveBack(s *openSnapshot, db *query.DB) {
	s.idle <- db
	p.removeUser(s)
}

func (p *pool) removeUser(s *openSnapshot) {
	p.turn <- struct{}{}
	p.removeUserInTurn(s)
	<-p.turn
}

// removeUserInTurn closes a snapshot without users. The caller has the turn.
func (p *pool) removeUserInTurn(s *openSnapshot) {
	s.users--
	if s.users > 0 {
		return
	}
	if err := s.db.Close(); err != nil {
		p.cfg.Log.Warn("snapshot not closed", "run", s.Run, "error", err)
	}
}

func (p *pool) removeAll() {
	for _, s := range p.open {
		p.removeUserInTurn(s)
	}
	p.open = nil
}
