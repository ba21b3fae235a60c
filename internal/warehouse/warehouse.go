// Package warehouse owns the warehouse folder and the DuckDB files in it: the write lock, drafts
// and published versions with their manifests, the switch of readers to a new version, the Parquet
// series, the retention of files, and the ledger of runs.
//
// DuckDB allows one writer or several readers, and a reader keeps its open file after a rename. So versions are
// behind a symlink: one switch of latest publishes all files, and readers never wait. All data is stored twice,
// in the catalog and in parquet/, and each can be rebuilt from the other. Large Parquet files of a version and of
// the series are hard links to one file. Manifests contain the SHA-256 of every file.
//
// Meta cannot be built from other data. The file meta.changes of a version contains the rows that were added
// to meta or past, or removed from meta. A chain of these files begins with all rows: in the first night, after an
// upgrade from 1.0.0, and in a rebuild.
//
// The last line of the ledger for a run, rebuild or rollback must name the version of latest; otherwise a new
// run ends with an error. The file run.json of a version identifies a run that was killed before its line.
//
// A day of the series belongs to one run. Before a second run of a day replaces a file, the old file is linked
// into parquet/.replaced/<run>, until the manifest of the second run is written. A rebuild uses a run of a day only if
// all files match its manifest.
//
// The package must not know where rows come from: it uses no HTTP, JSON records or Arrow. Other
// packages fill its files. Package repair checks and repairs the files.
package warehouse

import (
	"fmt"
	"io/fs"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// Names in the folder of the warehouse. They are documented, because readers rely on them.
const (
	CatalogFile  = "catalog.duckdb"
	ManifestFile = "manifest.json"
	LatestLink   = "latest"
	VersionsDir  = "versions"
	SeriesDir    = "parquet"
	rawDir       = "raw"
	StateDir     = "state"
	SeenDir      = "seen" // of releases up to 1.0.1, which kept hashes of records in it
	draftSuffix  = ".draft"
)

// Modes of files and folders. Stored responses and state are private. Published files are public,
// as far as the umask or Config.PublishedMode allows.
const (
	privateDir  = 0o700
	publicDir   = 0o755
	privateFile = 0o600
	publicFile  = 0o644
)

// Config contains the folder of the warehouse and the limits of its files, threads and memory.
type Config struct {
	// Dir is the folder.
	Dir string
	// KeepVersions is the number of versions that are kept for rollback, at least 1.
	KeepVersions int
	// MemoryLimit is DuckDB's memory_limit, such as "512MB". The process takes 310 to 480 MiB
	// in addition.
	MemoryLimit string
	// Threads limits DuckDB's threads. Zero means all cores.
	Threads int
	// Program is the version of the program, for manifests and meta.runs.
	Program string
	// PublishedMode is the mode of published files. Users who can read the files can also open their
	// folders. Zero means 0644 restricted by the umask.
	PublishedMode fs.FileMode
	// DiscardRaw removes the stored responses of a run when its snapshot or a later snapshot is
	// published.
	DiscardRaw bool
	// Tables are the tables of the schema main with their keys, in a stable order.
	Tables []stream.Table
	// Statuses are written into the table meta.statuses of each new version.
	Statuses []Status
	// Step, if set, is called before and after each change of the disk, see durable.Disk.
	// Tests use it to kill the process or to simulate a failing disk.
	Step func(name, path string) error
}

// Status is the meaning of a status of articles: a row of the table meta.statuses.
type Status struct {
	Prefix string
	// State is open, published or ended.
	State string
	// WaitsFor is partner, approval, writer, publisher or empty.
	WaitsFor   string
	IsRevision bool
}

// Warehouse is the folder of a warehouse. Each field manages one aspect of the folder, and uses only the
// fields above it. Methods of the Warehouse use several fields, for example for drafts and rollbacks.
type Warehouse struct {
	Schema   *Schema
	Folder   *Folder
	Versions *Versions
	RunLog   *RunLog
	Series   *Series
	Pruner   *Pruner

	cfg Config
}

// New does not access the folder. It panics if a table has no definition in schema/.
func New(cfg Config) *Warehouse {
	defs, meta := schema.Definitions()
	for _, t := range cfg.Tables {
		if _, ok := defs[t.Name]; !ok {
			panic(fmt.Sprintf("table %q has no file in schema/", t.Name))
		}
	}
	w := &Warehouse{cfg: cfg}
	w.Schema = &Schema{cfg.Tables, defs, meta, schema.MartViews()}
	w.Folder = &Folder{cfg.Dir, durable.Disk{Step: cfg.Step, Label: stepLabel}, cfg.PublishedMode}
	w.Versions = &Versions{w.Folder, cfg.KeepVersions}
	w.RunLog = &RunLog{w.Folder, w.Versions, cfg.Program}
	w.Series = &Series{w.Folder, w.Versions}
	w.Pruner = &Pruner{w.Folder, w.Versions, w.RunLog, w.Series, cfg.DiscardRaw}
	return w
}
