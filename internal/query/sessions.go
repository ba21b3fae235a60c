package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Sessions are the handles that Options.Sessions asked for. They share the instance,
// its limits and its catalog; each runs one query at a time, side by side with the
// others. They end with the DB that they are of.
func (db *DB) Sessions() []*DB { return db.sessions }

// derived is the database in memory for tables that the program makes of the catalog, so
// that an answer that is asked for again and again costs less. It is compressed.
const derived = "derived"

// openSessions makes the further connections, before the settings are locked.
func (db *DB) openSessions(ctx context.Context) error {
	if db.opts.Sessions == 0 {
		return nil
	}
	if err := db.execAll(ctx, "ATTACH ':memory:' AS "+derived+" (COMPRESS)"); err != nil {
		return err
	}
	for range db.opts.Sessions {
		conn, err := db.pool.Conn(ctx)
		if err != nil {
			return err
		}
		one := &DB{pool: db.pool, conn: conn, opts: db.opts, spill: db.spill, asOf: db.asOf, planner: db.planner}
		db.sessions = append(db.sessions, one)
		if err := one.execAll(ctx, "USE "+home, setUTC); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) closeSessions() error {
	var problems []error
	for _, one := range db.sessions {
		problems = append(problems, one.conn.Close())
	}
	return errors.Join(problems...)
}

// Derive runs statements of the program, never of a user, that make tables in the
// database "derived", which is in memory and counts against Options.MemoryLimit.
func (db *DB) Derive(ctx context.Context, statements ...string) error {
	if err := db.execAll(ctx, statements...); err != nil {
		return fmt.Errorf("derive tables: %w", err)
	}
	return nil
}

// SendParquet writes the answer of a query to w as one Parquet file, which first grows
// in the private folder for temporary files. It returns the number of rows.
func (db *DB) SendParquet(ctx context.Context, q Query, values map[string]string, w io.Writer) (rows int64, err error) {
	dir, err := os.MkdirTemp(db.spill.Dir, "parquet-")
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "answer.parquet")
	if rows, err = db.Save(ctx, q, values, Parquet, file); err != nil {
		return rows, err
	}
	f, err := os.Open(file)
	if err != nil {
		return rows, fmt.Errorf("send parquet: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return rows, fmt.Errorf("send parquet: %w", err)
	}
	return rows, nil
}
