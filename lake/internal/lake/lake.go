// Package lake publishes nights as Apache Iceberg tables, which Spark, Trino and other engines
// read. The tables are in a folder or in object storage, with a catalog in SQLite or Postgres, or on a
// REST server. One commit publishes all tables of a night, with a tag that names the night.
// It is linked into a separate program. In placementsync it would slow down each command, although most warehouses
// have no lake, and its crash could end a night. The package has its own SQL catalog, because the SQL catalog of
// iceberg-go commits one table at a time.
//
// The package reads the ledger and the published versions of a warehouse. It must not know the service
// and its HTTP, the steps of a night, or how rows are staged and merged.
package lake

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/apache/iceberg-go/table"

	"placementsync/internal/bucket"
	"placementsync/internal/stream"
)

// Config is the catalog and the location of the lake.
type Config struct {
	// Catalog selects the catalog: SQLite, "sqlite:FILE", RESTful, or the address of a Postgres
	// database.
	Catalog string
	// Name is the name of the catalog. An SQL catalog stores it as catalog_name, and its readers must
	// use the same name.
	Name string
	// Warehouse is the absolute folder or the s3:// address of the tables. If it is empty, the
	// server of a REST catalog chooses the folder of each table.
	Warehouse string
	// Namespace is the prefix of all namespaces of the lake.
	Namespace string
	// KeepNights is the number of nights that readers can select by tag. 0 keeps all.
	KeepNights int
	// Mode is the mode of files of a lake in a folder, and of an SQLite catalog. Users who can read the
	// files can also open their folders. Zero means 0644 restricted by the umask.
	Mode fs.FileMode
	// Password is the password of a Postgres database. If it is empty, PGPASSWORD or ~/.pgpass is
	// used.
	Password string
	REST     REST
	S3       bucket.Config
	// Program is the version of the program. The summary of each commit contains it.
	Program string
	// Step, if set, is called before and after each change of the storage, see durable.Disk.
	// Tests use it to inject faults. Several goroutines call it at the same time.
	Step func(name, path string) error
	Now  func() time.Time
}

// The values of Config.Catalog other than addresses of Postgres.
const (
	SQLite  = "sqlite" // catalog.db in the folder of the tables; "sqlite:FILE" names another file
	RESTful = "rest"
)

// The parts of the lake. The namespace of a part is the configured prefix, an underscore and the part.
// The tables of the schema main are in the part "current", because some readers do not accept a
// namespace called main.
const (
	current = "current"
	past    = "past"
	meta    = "meta"
)

// Lake is an open catalog with the files of its tables.
type Lake struct {
	cfg     Config
	catalog catalog
	files   *files

	// id identifies the lake. checkOwner sets it.
	id string
}

// catalog registers tables. A commit applies to all of its tables or to none.
type catalog interface {
	// load returns all tables in the namespaces of the lake. It returns no tables if the
	// catalog does not exist yet.
	load(ctx context.Context) (tables, error)
	// newTable returns a table that commit will create. A catalog that cannot create tables
	// in a commit creates an empty table here.
	newTable(ctx context.Context, name tableName, def stream.Definition) (*table.Table, error)
	// commit applies all changes in one step. After an *unknownResultError the changes may have been
	// applied; after any other error they were not applied. commit returns a *conflictError if another
	// publisher changed a table meanwhile. tagsKept is false if the catalog dropped a committed tag.
	commit(ctx context.Context, changes []change) (tagsKept bool, err error)
	// checkAccess checks that tables can be added. It leaves no table behind.
	checkAccess(ctx context.Context) error
	close() error
}

type tableName struct{ part, table string }

// String returns the name without the prefix of the namespace, for messages.
func (n tableName) String() string { return n.part + "." + n.table }

func (c Config) identifier(n tableName) table.Identifier {
	return table.Identifier{c.namespace(n.part), n.table}
}

func (c Config) namespace(part string) string { return c.Namespace + "_" + part }

func parts() []string { return []string{current, past, meta} }

type tables map[tableName]*table.Table

// loadEach calls load with the index of each name, several at a time.
func loadEach(workers int, names []tableName, load func(i int) (*table.Table, error)) (tables, error) {
	loaded := make([]*table.Table, len(names))
	err := eachIndex(workers, len(names), func(i int) (err error) {
		loaded[i], err = load(i)
		return err
	})
	lakeTables := tables{}
	for i, n := range names {
		lakeTables[n] = loaded[i]
	}
	return lakeTables, err
}

// change is the part of a commit for one table. The updates are applied if the requirements are
// met.
type change struct {
	name tableName
	// base is the table before the change. In an SQL catalog, a new table has no metadata file
	// yet.
	base         *table.Table
	requirements []table.Requirement
	updates      []table.Update
	// metadataFiles are the metadata files that the folder of the table contained before the change.
	metadataFiles []string
}

// metadataAfter returns the metadata of the table after the change.
func (c change) metadataAfter() (table.Metadata, error) {
	return table.UpdateTableMetadata(c.base.Metadata(), c.updates, c.base.MetadataLocation())
}

// Open opens the catalog. It creates no file and no table.
func Open(ctx context.Context, cfg Config) (l *Lake, err error) {
	if ctx, err = withObjectStorage(ctx, cfg); err != nil {
		return nil, err
	}
	l = &Lake{cfg: cfg}
	if l.files, err = openFiles(ctx, cfg); err != nil {
		return nil, err
	}
	if cfg.Catalog == RESTful {
		l.catalog, err = openREST(ctx, cfg, l.files)
	} else {
		l.catalog, err = openSQL(ctx, cfg, l.files)
	}
	return l, err
}

// Close closes the catalog.
func (l *Lake) Close() error { return l.catalog.close() }

// Check checks that this catalog owns the lake and that the lake can be written. It writes a
// file and a table, and removes both.
func (l *Lake) Check(ctx context.Context) error {
	if l.files.root != "" {
		if err := l.files.checkAccess(); err != nil {
			return fmt.Errorf("check the lake: write to %s: %w", l.cfg.Warehouse, err)
		}
	}
	lakeTables, err := l.catalog.load(ctx)
	if err == nil {
		_, err = l.checkOwner(lakeTables)
	}
	if err == nil {
		err = l.catalog.checkAccess(ctx)
	}
	if err != nil {
		return fmt.Errorf("check the lake: %w", err)
	}
	return nil
}

// conflictError means that another publisher committed first.
type conflictError struct {
	table string
	err   error // may be nil
}

func (e *conflictError) Error() string {
	text := fmt.Sprintf("commit to the lake: another publisher changed %s meanwhile; this commit was not applied: "+
		"run \"placementsync lake status\"; if the night is missing, run \"placementsync lake publish --all\"", e.table)
	if e.err != nil {
		text += " (" + e.err.Error() + ")"
	}
	return text
}

func damagedErr(file, problem string) error {
	return fmt.Errorf("publish %s: %s; this night was not committed to the lake: run \"placementsync verify --read-data\"", file, problem)
}

func tagOf(run string) string { return "run_" + run }
