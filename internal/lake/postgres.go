package lake

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectTimeout is the connection timeout if the address has none.
const connectTimeout = 10 * time.Second

// openPostgres connects to a Postgres database. Its errors do not contain the password.
func openPostgres(ctx context.Context, cfg Config) (*sql.DB, dialect, error) {
	d := dialect{
		hasTablesSQL:          "SELECT to_regclass('iceberg_tables') IS NOT NULL",
		hasNumberedParameters: true,
		setTimeoutSQL:         "SELECT set_config('lock_timeout', '20s', true), set_config('statement_timeout', '60s', true)",
	}
	connection, err := pgx.ParseConfig(cfg.Catalog)
	if err != nil {
		return nil, d, fmt.Errorf("open the catalog of the lake: %w: check lake.catalog", err)
	}
	if cfg.Password != "" {
		connection.Password = cfg.Password
	}
	connection.ConnectTimeout = cmp.Or(connection.ConnectTimeout, connectTimeout)
	db := stdlib.OpenDB(*connection)
	if err := db.PingContext(ctx); err != nil {
		return nil, d, errors.Join(fmt.Errorf("open the catalog of the lake: %w; nothing was changed: check lake.catalog and the password", err), db.Close())
	}
	return db, d, nil
}

// isPostgresConflict reports whether a statement failed because another publisher added or changed the same
// row, created the same tables, or caused a deadlock.
func isPostgresConflict(err error) bool {
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
