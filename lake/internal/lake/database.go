package lake

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// openSQLite opens an SQLite catalog. A transaction takes the write lock when it begins. Taking the
// lock later would fail if another transaction wrote meanwhile. Waiting for a lock ends after 20 s.
func openSQLite(path string) (*sql.DB, error) {
	address := url.URL{Scheme: "file", Path: path, RawQuery: "_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=synchronous(FULL)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// openPostgres connects to a Postgres database. Its errors do not contain the password.
func openPostgres(ctx context.Context, cfg Config) (*sql.DB, error) {
	connection, err := pgx.ParseConfig(cfg.Catalog)
	if err != nil {
		return nil, fmt.Errorf("open the catalog of the lake: %w: check lake.catalog", err)
	}
	if cfg.Password != "" {
		connection.Password = cfg.Password
	}
	connection.ConnectTimeout = cmp.Or(connection.ConnectTimeout, 10*time.Second)
	db := stdlib.OpenDB(*connection)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the catalog of the lake: %w; nothing was changed: check lake.catalog and the password", err), db.Close())
	}
	return db, nil
}

// isConflict reports whether a statement failed because another publisher added or changed the same row, created
// the same tables, or caused a deadlock.
func isConflict(err error) bool {
	var sqliteErr *sqlite.Error
	if errors.As(err, &sqliteErr) {
		return sqliteErr.Code()&0xff == sqlitelib.SQLITE_CONSTRAINT
	}
	var postgresErr *pgconn.PgError
	if !errors.As(err, &postgresErr) {
		return false
	}
	switch postgresErr.Code {
	case "23505", "40001", "40P01", "42P07": // unique violation, serialization failure, deadlock, duplicate table
		return true
	}
	return false
}
