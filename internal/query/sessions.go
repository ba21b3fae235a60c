package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Sessions returns the handles that Options.Sessions requested. The handles share the DuckDB instance,
// its limits and the catalog with db. Queries of different sessions run concurrently. Close closes the
// sessions too.
func (db *DB) Sessions() []*DB { return db.sessions }

// derivedDB is a compressed in-memory database. The program fills it with tables computed from the
// catalog, which make repeated queries faster.
const derivedDB = "derived"

// openSessions opens the connections of the sessions before the settings are locked.
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

func (db *DB) closeSessions() error {
	var problems []error
	for _, session := range db.sessions {
		problems = append(problems, session.conn.Close())
	}
	return errors.Join(problems...)
}

// Derive executes trusted statements that create tables in the database "derived". The tables
// are in memory and count towards Options.MemoryLimit.
func (db *DB) Derive(ctx context.Context, statements ...string) error {
	if err := db.execAll(ctx, statements...); err != nil {
		return fmt.Errorf("derive tables: %w", err)
	}
	return nil
}

// SendParquet writes the result of a query to w as a Parquet file and returns the number of
// rows. It first writes the file to the private temporary folder.
func (db *DB) SendParquet(ctx context.Context, q Query, values map[string]string, w io.Writer) (rows int64, err error) {
	dir, err := os.MkdirTemp(db.spill.Dir, "parquet-")
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "result.parquet")
	if rows, err = db.Save(ctx, q, values, Output{Format: Parquet}, file); err != nil {
		return rows, err
	}
	if err := copyFile(w, file); err != nil {
		return rows, fmt.Errorf("send parquet: %w", err)
	}
	return rows, nil
}
