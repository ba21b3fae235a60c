package lake

import (
	"context"
	"database/sql"
	_ "embed" // for the statements
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

//go:embed sql/catalog.sql
var catalogSQL sqltext.File

// sqlCatalog is a catalog in the SQL tables of Iceberg's JDBC catalog, which PyIceberg and
// Trino read. The SQL catalog of iceberg-go cannot commit several tables in one step.
type sqlCatalog struct {
	cfg   Config
	files *files
	// place names the catalog in errors.
	place string
	// path is the file of an SQLite catalog. db is nil if the file does not exist.
	path string
	db   *sql.DB
	// hasTablesSQL is a query that returns whether the tables of the catalog exist.
	hasTablesSQL string
}

// databaseTimeout limits the time of a query or a transaction. Without a limit, a request to an unreachable
// database would never end.
const databaseTimeout = 90 * time.Second

// openSQL creates no file and no table.
func openSQL(ctx context.Context, cfg Config, f *files) (*sqlCatalog, error) {
	c := &sqlCatalog{cfg: cfg, files: f, place: "the catalog of the lake"}
	var err error
	path, isFile := strings.CutPrefix(cfg.Catalog, SQLite+":")
	switch {
	case cfg.Catalog == SQLite:
		path = filepath.Join(cfg.Warehouse, "catalog.db")
	case isFile: // path is set
	default:
		c.hasTablesSQL = "SELECT to_regclass('iceberg_tables') IS NOT NULL"
		c.db, err = openPostgres(ctx, cfg)
		return c, err
	}
	c.hasTablesSQL = "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'iceberg_tables'"
	c.path, c.place = path, c.place+" "+path // errors of SQLite contain no path
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	c.db, err = openSQLite(path)
	return c, err
}

// createFile creates the file of an SQLite catalog if it does not exist, and sets its mode. An empty file is a
// database without tables.
func (c *sqlCatalog) createFile() error {
	if c.path == "" {
		return nil
	}
	if c.db == nil {
		if err := c.openNewFile(); err != nil {
			return fmt.Errorf("create %s: %w", c.place, err)
		}
	}
	if c.cfg.Mode == 0 {
		return nil
	}
	return os.Chmod(c.path, c.cfg.Mode)
}

func (c *sqlCatalog) openNewFile() error {
	err := c.files.makeFolder(filepath.Dir(c.path))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, publicFile)
	if err == nil {
		err = file.Close()
	}
	if err == nil {
		c.db, err = openSQLite(c.path)
	}
	return err
}

func (c *sqlCatalog) close() error {
	if c.db == nil {
		return nil
	}
	return c.db.Close()
}

func catalogStatement(name string) string { return string(catalogSQL.Render(name, nil)) }

// registeredTable is a row of iceberg_tables.
type registeredTable struct {
	identifier       table.Identifier
	metadataLocation string
}

func (c *sqlCatalog) load(ctx context.Context) (tables, error) {
	rows, err := c.list(ctx, "list_tables")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.place, err)
	}
	names := make([]tableName, len(rows))
	for i, r := range rows {
		names[i] = tableName{strings.TrimPrefix(r.identifier[0], c.cfg.namespace("")), r.identifier[1]}
	}
	return loadEach(c.files.workers(), names, func(i int) (*table.Table, error) { return c.openTable(rows[i]) })
}

func (c *sqlCatalog) openTable(r registeredTable) (*table.Table, error) {
	name := strings.Join(r.identifier, ".")
	data, err := c.files.readAll(canonicalAddress(r.metadataLocation))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the metadata of %s, to which the catalog refers: %w: check that lake.warehouse and lake.catalog belong together and can be reached", name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s: %w", name, err)
	}
	m, err := table.ParseMetadataBytes(data)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of %s in %s: %w", name, r.metadataLocation, err)
	}
	return c.tableOf(r.identifier, m, r.metadataLocation), nil
}

func (c *sqlCatalog) tableOf(identifier table.Identifier, m table.Metadata, location string) *table.Table {
	return table.New(identifier, m, location, func(context.Context) (icebergio.IO, error) { return c.files, nil }, nil)
}

// list returns the tables that a named statement selects, with the catalog and the namespaces of
// the lake as parameters. It returns no tables if the catalog does not exist.
func (c *sqlCatalog) list(ctx context.Context, statement string) (registered []registeredTable, err error) {
	if c.db == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	var exists bool
	if err := c.db.QueryRowContext(ctx, c.hasTablesSQL).Scan(&exists); err != nil || !exists {
		return nil, err
	}
	args := []any{c.cfg.Name}
	for _, part := range parts() {
		args = append(args, c.cfg.namespace(part))
	}
	rows, err := c.db.QueryContext(ctx, catalogStatement(statement), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var namespace, name, location string
		if err := rows.Scan(&namespace, &name, &location); err != nil {
			return nil, err
		}
		registered = append(registered, registeredTable{table.Identifier{namespace, name}, location})
	}
	return registered, rows.Err()
}

func (c *sqlCatalog) newTable(_ context.Context, n tableName, def stream.Definition) (*table.Table, error) {
	m, err := newMetadata(def, c.cfg.tableFolder(c.files.root, n))
	if err != nil {
		return nil, err
	}
	return c.tableOf(c.cfg.identifier(n), m, ""), nil
}

// swap replaces the metadata file of a table in the catalog. For a new table, from is empty.
type swap struct {
	name     tableName
	from, to string
}

// commit replaces the metadata files of all tables in the catalog in one transaction. The catalog itself drops no tags, so
// tagsKept is true after a commit.
func (c *sqlCatalog) commit(ctx context.Context, changes []change) (tagsKept bool, err error) {
	swaps := make([]swap, len(changes))
	staged := make([]*stagedFile, len(changes)) // nil if its change could not be staged
	defer func() {                              // discard removes no file that showMetadata has shown
		for _, s := range staged {
			if s != nil {
				s.discard()
			}
		}
	}()
	err = eachIndex(c.files.workers(), len(changes), func(i int) (err error) {
		staged[i], err = c.stageMetadata(changes[i])
		if err == nil {
			swaps[i] = swap{changes[i].name, changes[i].base.MetadataLocation(), staged[i].name}
		}
		return err
	})
	if err == nil {
		err = c.files.syncFolders(c.files.uncommitted.names())
	}
	if err != nil {
		return false, fmt.Errorf("write the metadata: %w", err)
	}
	if err := c.createFile(); err != nil {
		return false, err
	}
	committed := false
	err = c.files.disk.Do("commit", "catalog", func() error {
		err := c.commitSwaps(ctx, swaps, func() error { return c.showMetadata(staged) })
		committed = err == nil
		return err
	})
	if err != nil && committed { // the step function of the disk failed after the commit
		err = unknownResult(err)
	}
	return true, err
}

// stageMetadata writes the metadata of a table after a change. The number in the name of the file is higher
// than that of every file in the folder, because some readers take the file with the highest number. A killed
// publisher may have left higher numbers than the catalog has.
func (c *sqlCatalog) stageMetadata(ch change) (*stagedFile, error) {
	for _, r := range ch.requirements {
		if err := r.Validate(ch.base.Metadata()); err != nil {
			return nil, &conflictError{ch.name.String(), err}
		}
	}
	m, err := ch.metadataAfter()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ch.name, err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ch.name, err)
	}
	number := metadataNumber(ch.base.MetadataLocation()) + 1
	for _, file := range ch.metadataFiles {
		number = max(number, metadataNumber(file)+1)
	}
	return c.files.stage(fmt.Sprintf("%s/metadata/%05d-%s%s", m.Location(), number, uuid.New(), metadataSuffix), data)
}

// showMetadata makes the staged metadata visible to readers that open the folder of a table. It is called
// within the transaction, after all rows are replaced: no other publisher can commit then, and only the end of
// the transaction can fail. After the transaction would be too late, because readers of the catalog would miss
// the files.
func (c *sqlCatalog) showMetadata(staged []*stagedFile) error {
	err := eachIndex(c.files.workers(), len(staged), func(i int) error { return staged[i].show() })
	if err != nil || !c.files.local {
		return err
	}
	return eachIndex(c.files.workers(), len(staged), func(i int) error {
		return c.files.disk.Sync(filepath.Dir(localPath(staged[i].name)))
	})
}

// commitSwaps sets the new metadata files of all tables in one transaction, and calls showMetadata before its end.
// It returns a *conflictError if a table changed since it was loaded.
func (c *sqlCatalog) commitSwaps(ctx context.Context, swaps []swap, showMetadata func() error) error {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	tx, err := c.beginSwaps(ctx, swaps)
	if err != nil {
		return err
	}
	if err := showMetadata(); err != nil {
		return errors.Join(fmt.Errorf("write the metadata: %w", err), warehouse.Undo(tx))
	}
	if err := tx.Commit(); err != nil {
		err = errors.Join(c.commitErr("a table", err), warehouse.Undo(tx))
		if errors.As(err, new(*conflictError)) {
			return err
		}
		return unknownResult(err)
	}
	return nil
}

// beginSwaps sets the new metadata files of all tables in a transaction, which the caller must end.
func (c *sqlCatalog) beginSwaps(ctx context.Context, swaps []swap) (*sql.Tx, error) {
	// All publishers use the same order, so that they do not deadlock.
	slices.SortFunc(swaps, func(a, b swap) int { return strings.Compare(a.name.String(), b.name.String()) })
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin the commit in %s: %w", c.place, err)
	}
	if err := c.ensureTables(ctx, tx); err != nil {
		return nil, errors.Join(c.commitErr("the list of tables", err), warehouse.Undo(tx))
	}
	for _, s := range swaps {
		if err := c.swapOne(ctx, tx, s); err != nil {
			return nil, errors.Join(c.commitErr(s.name.String(), err), warehouse.Undo(tx))
		}
	}
	return tx, nil
}

func (c *sqlCatalog) commitErr(table string, err error) error {
	if errors.As(err, new(*conflictError)) {
		return err
	}
	if isConflict(err) {
		return &conflictError{table, err}
	}
	return fmt.Errorf("commit %s in %s: %w", table, c.place, err)
}

func (c *sqlCatalog) ensureTables(ctx context.Context, tx *sql.Tx) error {
	names := []string{"create_table_list", "create_namespace_list"}
	if c.path == "" {
		names = slices.Insert(names, 0, "limit_waits_of_postgres")
	}
	for _, name := range names {
		if _, err := tx.ExecContext(ctx, catalogStatement(name)); err != nil {
			return err
		}
	}
	for _, part := range parts() {
		if _, err := tx.ExecContext(ctx, catalogStatement("add_namespace"), c.cfg.Name, c.cfg.namespace(part)); err != nil {
			return err
		}
	}
	return nil
}

func (c *sqlCatalog) swapOne(ctx context.Context, tx *sql.Tx, s swap) error {
	namespace := c.cfg.namespace(s.name.part)
	if s.from == "" {
		_, err := tx.ExecContext(ctx, catalogStatement("add_table"), c.cfg.Name, namespace, s.name.table, s.to)
		return err
	}
	result, err := tx.ExecContext(ctx, catalogStatement("swap_table"), s.to, s.from, c.cfg.Name, namespace, s.name.table)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(&conflictError{table: s.name.String()}, err)
	}
	return nil
}

// checkAccess adds a table to the catalog and rolls back. If it creates the file of an SQLite catalog, the
// file is kept without tables.
func (c *sqlCatalog) checkAccess(ctx context.Context) error {
	if err := c.createFile(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	tx, err := c.beginSwaps(ctx, []swap{{tableName{meta, "check_" + uuid.NewString()}, "", "none"}})
	if err != nil {
		return err
	}
	return warehouse.Undo(tx)
}
