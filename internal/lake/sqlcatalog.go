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
	"strconv"
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
	case !isFile:
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

// createFile creates the file of an SQLite catalog if it does not exist.
func (c *sqlCatalog) createFile() error {
	if c.db != nil {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(c.path), 0o755) // other users may read the catalog
	if err == nil {
		c.db, err = openSQLite(c.path)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", c.place, err)
	}
	return nil
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

// commit writes the metadata of all tables, and then replaces their addresses in the catalog in one
// transaction.
func (c *sqlCatalog) commit(ctx context.Context, changes []change) (tagsKept bool, err error) {
	swaps := make([]swap, len(changes))
	err = eachIndex(c.files.workers(), len(changes), func(i int) error {
		to, err := c.writeMetadata(changes[i])
		swaps[i] = swap{changes[i].name, changes[i].base.MetadataLocation(), to}
		return err
	})
	if err == nil {
		err = c.files.syncFolders()
	}
	if err != nil {
		return false, fmt.Errorf("write the metadata: %w", err)
	}
	if err := c.createFile(); err != nil {
		return false, err
	}
	const keepChanges = true
	committed := false
	err = c.files.disk.Do("commit", "catalog", func() error {
		err := c.swapAll(ctx, swaps, keepChanges)
		committed = err == nil
		return err
	})
	if err != nil && committed { // Step failed after the commit
		err = unknownResult(err)
	}
	return true, err
}

func (c *sqlCatalog) writeMetadata(ch change) (location string, err error) {
	for _, r := range ch.requirements {
		if err := r.Validate(ch.base.Metadata()); err != nil {
			return "", &conflictError{ch.name.String(), err}
		}
	}
	m, err := table.UpdateTableMetadata(ch.base.Metadata(), ch.updates, ch.base.MetadataLocation())
	if err != nil {
		return "", fmt.Errorf("%s: %w", ch.name, err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ch.name, err)
	}
	location = fmt.Sprintf("%s/metadata/%05d-%s.metadata.json", m.Location(), nextMetadataNumber(ch.base.MetadataLocation()), uuid.New())
	return location, c.files.WriteFile(location, data)
}

// nextMetadataNumber returns the number in the name of the metadata file after location, or 0 for a new table.
func nextMetadataNumber(location string) int {
	number, _, _ := strings.Cut(filepath.Base(location), "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n + 1
}

// swapAll sets the new metadata files of all tables in one transaction. It returns a
// *conflictError if a table changed since it was loaded. If keepChanges is false, it rolls the transaction back.
func (c *sqlCatalog) swapAll(ctx context.Context, swaps []swap, keepChanges bool) (err error) {
	// All publishers use the same order, so that they do not deadlock.
	slices.SortFunc(swaps, func(a, b swap) int { return strings.Compare(a.name.String(), b.name.String()) })
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin the commit in %s: %w", c.place, err)
	}
	defer func() {
		if err != nil || !keepChanges {
			err = errors.Join(err, warehouse.Undo(tx))
		}
	}()
	if err := c.ensureTables(ctx, tx); err != nil {
		return c.commitErr("the list of tables", err)
	}
	for _, s := range swaps {
		if err := c.swapOne(ctx, tx, s); err != nil {
			return c.commitErr(s.name.String(), err)
		}
	}
	if !keepChanges {
		return nil
	}
	if err := tx.Commit(); err != nil {
		if err = c.commitErr("a table", err); !errors.As(err, new(*conflictError)) {
			err = unknownResult(err)
		}
		return err
	}
	return nil
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
func (c *sqlCatalog) checkAccess(ctx context.Context) (err error) {
	if err := c.createFile(); err != nil {
		return err
	}
	const keepChanges = false
	return c.swapAll(ctx, []swap{{tableName{meta, "check_" + uuid.NewString()}, "", "none"}}, keepChanges)
}
