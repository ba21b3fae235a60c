package query

import (
	"context"
	"fmt"
)

// Sessions returns the handles that Options.Sessions requested. The handles share the DuckDB instance,
// its limits and the catalog with db. Queries of different sessions run concurrently. Close closes the
// sessions too.
func (db *DB) Sessions() []*DB { return db.sessions }

// derivedDB is a compressed in-memory database. The program fills it with tables computed from the
// catalog, which make repeated queries faster.
const derivedDB = "derived"

func (db *DB) openSessions(ctx context.Context) error {
	if db.opts.Sessions == 0 {
		return nil
	}
	if err := db.execAll(ctx, "ATTACH ':memory:' AS "+derivedDB+" (COMPRESS)"); err != nil {
		return err
	}
	for range db.opts.Sessions {
		conn, err := db.pool.Conn(ctx)
		if err != nil {
			return err
		}
		session := &DB{pool: db.pool, conn: conn, opts: db.opts, spill: db.spill, asOf: db.asOf, planner: db.planner}
		db.sessions = append(db.sessions, session)
		if err := session.execAll(ctx, "USE "+catalogDB, setUTC); err != nil {
			return err
		}
	}
	return nil
}

// Derive executes trusted statements that create tables in the database "derived". The tables
// are in memory and count towards Options.MemoryLimit.
func (db *DB) Derive(ctx context.Context, statements ...string) error {
	if err := db.execAll(ctx, statements...); err != nil {
		return fmt.Errorf("derive tables: %w", err)
	}
	return nil
}
