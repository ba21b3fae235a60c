// Package lake publishes nights as Apache Iceberg tables, into a catalog over a folder
// or object storage, where Spark, Trino and other engines read them. All tables of a
// night appear in one commit, with a tag that names the night.
//
// It reads published versions and nothing else of a warehouse. It must not know the
// service and its HTTP, how a night goes, or how rows are staged and merged.
package lake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"placementsync/internal/object"
)

// Config says where the lake is.
type Config struct {
	// Catalog is how tables are registered: SQLite, REST, or the address of a Postgres
	// database.
	Catalog string
	// Name is the catalog_name in the tables of an SQL catalog. Readers must give the
	// same name.
	Name string
	// Warehouse is the absolute folder or the s3:// address of the tables; with REST it
	// may be empty, and the server decides.
	Warehouse string
	// Namespace is the prefix of the three namespaces.
	Namespace string
	// Password returns the password of a Postgres database; empty: as the environment
	// says.
	Password func() (string, error)
	// REST is the server of a REST catalog.
	REST REST
	// S3 is how object storage is reached.
	S3 object.Config
	// Program is the version of the program, written into the summary of each commit.
	Program string
	// Step, if set, is called around each change of what is stored (fault injection),
	// see durable.Disk. It makes changes one after the other.
	Step func(name string) error
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// The values of Config.Catalog besides addresses of Postgres.
const (
	SQLite  = "sqlite" // catalog.db in the folder of the tables, or sqlite:FILE
	RESTful = "rest"
)

// The parts of the lake. Each is a namespace, behind the prefix of the configuration and
// an underscore: some readers do not accept a namespace called main.
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

	// id is that of the lake, and isMarked says that it stands in the folder: see checkOwner.
	id       string
	isMarked bool
}

// catalog registers tables. A commit is of all tables or of none.
type catalog interface {
	// load returns all tables of the namespaces of the lake. Without a catalog there
	// is none.
	load(ctx context.Context) (tables, error)
	// newTable returns a table that commit will create, unless the catalog has to
	// create it before: then it is empty.
	newTable(ctx context.Context, name tableName, d design) (*table.Table, error)
	// commit puts all changes in force in one step, or none. It returns a
	// *ConflictError when another publisher changed a table meanwhile.
	commit(ctx context.Context, changes []change) error
	// reload returns a table after a commit, from catalogs that may keep less than they
	// were sent; nil from others.
	reload(ctx context.Context, name tableName) (*table.Table, error)
	// checkAccess makes a change and takes it back.
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

// tableName reads a name of the catalog; ok is false when it is not of this lake.
func (c Config) tableName(namespace, name string) (n tableName, ok bool) {
	part, ok := strings.CutPrefix(namespace, c.Namespace+"_")
	return tableName{part, name}, ok && (part == current || part == past || part == meta)
}

// tables are tables of the lake as they were loaded.
type tables map[tableName]*table.Table

// change is what a commit does to one table: the updates, under the requirements. A table
// that is new in the catalog has a base without a metadata file.
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

// ConflictError says that another publisher was first.
type ConflictError struct {
	Table string
	Err   error
}

func (e *ConflictError) Error() string {
	text := fmt.Sprintf("commit to the lake: another publisher changed %s meanwhile; nothing of this one is visible: "+
		"look at the lake with \"placementsync lake status\" and publish again if the night is not there", e.Table)
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	return text
}

func (e *ConflictError) Unwrap() error { return e.Err }

// OlderError says that the lake shows a later night, or another one of the same time.
type OlderError struct {
	Run, Shown     string
	At, ShownSince time.Time
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("publish %s of %s: the lake shows %s of %s, which is not earlier; nothing was changed: "+
		"the next night continues from it, also after a rollback", e.Run, e.At.Format(time.RFC3339), e.Shown, e.ShownSince.Format(time.RFC3339))
}

// OtherError says that the lake shows a night that the warehouse does not know.
type OtherError struct {
	Run, Shown string
	ShownSince time.Time
	// Rows are those of past and meta in the lake.
	Rows int64
}

func (e *OtherError) Error() string {
	return fmt.Sprintf("publish %s: the lake shows %s of %s, which this warehouse does not know; nothing was changed: "+
		"the %d rows of history in the lake would be replaced by those of this warehouse. Restore the warehouse with placementsync rebuild, "+
		"name another lake.namespace, or replace the history with \"placementsync lake publish --replace\"",
		e.Run, e.Shown, e.ShownSince.Format(time.RFC3339), e.Rows)
}

// DamagedError says that a published file is not what its manifest says.
type DamagedError struct{ File, Problem string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("publish %s: %s; nothing of the night was published: run \"placementsync verify --read-data\"", e.File, e.Problem)
}

// tagOf is the tag that names a night in every table.
func tagOf(run string) string { return "run_" + run }
