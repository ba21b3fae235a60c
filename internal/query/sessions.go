package query

import "context"

// Sessions returns the handles that Options.Sessions requested. The handles share the DuckDB instance,
// its limits and the catalog with db. Queries of different sessions run concurrently. Close closes the
// sessions too.
func (db *DB) Sessions() []*DB { return db.sessions }

func (db *DB) openSessions(ctx context.Context) error {
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
