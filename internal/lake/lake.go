// Package lake publishes nights as Apache Iceberg tables, into a catalog over a folder
// or object storage, where Spark, Trino and other engines read them. All tables of a
// night appear in one commit, with a tag that names the night.
//
// It reads published versions of a warehouse and no other part of it. It must not know the
// service and its HTTP, the steps of a night, or how rows are staged and merged.
package lake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"placementsync/internal/object"
)

// Config is the catalog and the location of the lake.
type Config struct {
	// Catalog is the kind of catalog: SQLite, RESTful, or the address of a Postgres database.
	Catalog string
	// Name is the catalog_name in the tables of an SQL catalog. Readers must give the
	// same name.
	Name string
	// Warehouse is the absolute folder or the s3:// address of the tables; with REST it
	// may be empty: then the server chooses the folder of each table.
	Warehouse string
	// Namespace is the prefix of the three namespaces.
	Namespace string
	// Password is the password of a Postgres database. If it is empty, the environment is
	// used.
	Password string
	// REST is the server of a REST catalog.
	REST REST
	// S3 configures the connection to object storage.
	S3 object.Config
	// Program is the version of the program, written into the summary of each commit.
	Program string
	// Step, if set, is called before and after each change of the storage, for fault
	// injection (see durable.Disk). Changes then run one after the other.
	Step func(name, path string) error
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// The values of Config.Catalog besides addresses of Postgres.
const (
	SQLite  = "sqlite" // catalog.db in the folder of the tables, or sqlite:FILE
	RESTful = "rest"
)

// The parts of the lake. The namespace of a part is the configured prefix, an underscore and
// the part. Some readers do not accept a namespace called main.
const (
	current = "current"
	past    = "past"
	meta    = "meta"
)

// Lake is an opened catalog with the files of its tables.
type Lake struct {
	cfg     Config
	catalog catalog
	files   *files

	// id identifies the lake. isMarked is true if the owner file exists, see checkOwner.
	id       string
	isMarked bool
}

// catalog registers tables. A commit applies to all of its tables or to none.
type catalog interface {
	// load returns all tables in the namespaces of the lake. It returns no tables if the
	// catalog does not exist yet.
	load(ctx context.Context) (tables, error)
	// newTable returns a table for commit to create. A catalog that cannot create tables
	// in a commit creates an empty one at once.
	newTable(ctx context.Context, name tableName, d design) (*table.Table, error)
	// commit applies all changes in one step, or none. It returns a *ConflictError if
	// another publisher changed a table meanwhile.
	commit(ctx context.Context, changes []change) error
	// reload returns a table after a commit. A catalog that stores exactly the committed
	// metadata returns nil.
	reload(ctx context.Context, name tableName) (*table.Table, error)
	// checkAccess makes a change and reverts it.
	checkAccess(ctx context.Context) error
	close() error
}

// tableName is a table of the lake: one of the parts, and the name within.
type tableName struct{ part, name string }

// String is the name without the prefix, for messages.
func (n tableName) String() string { return n.part + "." + n.name }

// identifier is the name in the catalog.
func (c Config) identifier(n tableName) table.Identifier {
	return table.Identifier{c.namespace(n.part), n.name}
}

func (c Config) namespace(part string) string { return c.Namespace + "_" + part }

// namespaces lists the namespaces of the lake.
func (c Config) namespaces() []string {
	return []string{c.namespace(current), c.namespace(past), c.namespace(meta)}
}

// tableName parses a name of the catalog. ok is false if it does not belong to this lake.
func (c Config) tableName(namespace, name string) (n tableName, ok bool) {
	part, ok := strings.CutPrefix(namespace, c.Namespace+"_")
	return tableName{part, name}, ok && (part == current || part == past || part == meta)
}

// tables are loaded tables of the lake.
type tables map[tableName]*table.Table

// change is the part of a commit for one table: updates that apply if the requirements
// hold. The base of a new table has no metadata file.
type change struct {
	name         tableName
	base         *table.Table
	requirements []table.Requirement
	updates      []table.Update
}

// Open opens the catalog. It creates nothing.
func Open(ctx context.Context, cfg Config) (l *Lake, err error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if ctx, err = withObjectStorage(ctx, cfg); err != nil {
		return nil, err
	}
	f, err := openFiles(ctx, cfg)
	if err != nil {
		return nil, err
	}
	l = &Lake{cfg: cfg, files: f}
	if cfg.Catalog == RESTful {
		l.catalog, err = openREST(ctx, cfg, f)
	} else {
		l.catalog, err = openSQL(ctx, cfg, f)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Close closes the catalog.
func (l *Lake) Close() error { return l.catalog.close() }

// ConflictError reports that another publisher committed first.
type ConflictError struct {
	Table string
	Err   error
}

func (e *ConflictError) Error() string {
	text := fmt.Sprintf("commit to the lake: another publisher changed %s meanwhile; this commit was not applied: "+
		"run \"placementsync lake status\", and publish again if the night is missing", e.Table)
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	return text
}

func (e *ConflictError) Unwrap() error { return e.Err }

// OlderError reports that the lake already shows a later night, or another night of the same
// time.
type OlderError struct {
	Run, Shown     string
	At, ShownSince time.Time
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("publish %s of %s: the lake shows %s of %s, which is not earlier; nothing was changed: "+
		"the next night replaces it, also after a rollback", e.Run, e.At.Format(time.RFC3339), e.Shown, e.ShownSince.Format(time.RFC3339))
}

// OtherError reports that the lake shows a night that the warehouse does not know.
type OtherError struct {
	Run, Shown string
	ShownSince time.Time
	// Rows is the number of rows of past and meta in the lake.
	Rows int64
}

func (e *OtherError) Error() string {
	return fmt.Sprintf("publish %s: the lake shows %s of %s, which this warehouse does not know; nothing was changed: "+
		"this warehouse would replace the %d rows of history in the lake: restore the warehouse with \"placementsync rebuild\", "+
		"set another lake.namespace, or replace the history with \"placementsync lake publish --replace\"",
		e.Run, e.Shown, e.ShownSince.Format(time.RFC3339), e.Rows)
}

// DamagedError reports that a published file differs from its manifest.
type DamagedError struct{ File, Problem string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("publish %s: %s; the night was not published: run \"placementsync verify --read-data\"", e.File, e.Problem)
}

// tagOf returns the name of a night's tag, which every table has.
func tagOf(run string) string { return "run_" + run }
