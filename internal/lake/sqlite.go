package lake

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

var sqliteDialect = dialect{
	hasTablesSQL: "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'iceberg_tables'",
}

// publicDir is the mode of the folder of an SQLite catalog, which other users may read.
const publicDir = 0o755

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

// isSQLiteConflict reports whether a statement failed because another publisher added the same row.
func isSQLiteConflict(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == sqlitelib.SQLITE_CONSTRAINT
}
