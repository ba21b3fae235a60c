package lake

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

func sqliteDialect(path string) dialect {
	return dialect{
		hasTables:  "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'iceberg_tables'",
		isConflict: isSQLiteConflict,
		create: func() (*sql.DB, error) {
			if err := os.MkdirAll(filepath.Dir(path), publicDir); err != nil {
				return nil, err
			}
			return openSQLite(path)
		},
	}
}

// publicDir are the rights of the folder of the lake: it is there to be read.
const publicDir = 0o755

// openSQLite opens a catalog.db. A transaction takes the lock of writers at once, since
// one that takes it later fails when another has written meanwhile. Readers hold the file
// for moments, so that a writer waits for them.
func openSQLite(path string) (*sql.DB, error) {
	address := url.URL{Scheme: "file", Path: path, RawQuery: "_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=synchronous(FULL)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// isSQLiteConflict recognizes a row that another publisher has added.
func isSQLiteConflict(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == sqlitelib.SQLITE_CONSTRAINT
}
