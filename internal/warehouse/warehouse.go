// Package warehouse owns the warehouse folder and the DuckDB files
// in it: who may write (lock), what a version is made of (draft, manifest),
// how it becomes visible in one step (publish), which versions stay, and the
// ledger of runs.
//
// It must not know where rows come from: nothing of HTTP, JSON records or
// Arrow. It opens files; others fill them.
package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// Names inside the folder; documented in the README since readers rely on them.
const (
	CatalogFile  = "catalog.duckdb"
	ManifestFile = "manifest.json"
	latestLink   = "latest"
	versionsDir  = "versions"
	seriesDir    = "parquet"
	rawDir       = "raw"
	stateDir     = "state"
	draftSuffix  = ".draft"
)

// Folders that hold what the service answered are closed to other users.
// Published files are at most for everybody to read; the umask or
// Config.PublishedMode says for whom.
const (
	privateDir  = 0o700
	publicDir   = 0o755
	privateFile = 0o600
	publicFile  = 0o644
)

// Config says where the warehouse is and what it may use.
type Config struct {
	// Dir is the folder; it is created by the first run.
	Dir string
	// KeepVersions is how many versions stay for rollback, at least 1.
	KeepVersions int
	// MemoryLimit is DuckDB's memory_limit, such as "512MB". The process
	// takes 310 to 480 MiB more than this.
	MemoryLimit string
	// Threads bounds DuckDB's threads. Zero: all cores.
	Threads int
	// Program is the version written into manifests and meta.runs.
	Program string
	// PublishedMode are the rights of published files; their folders get the
	// right to enter where files have that to read. Zero: the process's umask
	// says, and nobody but the owner may write.
	PublishedMode fs.FileMode
	// DiscardRaw removes landed answers as soon as a snapshot that holds them,
	// or comes after them, is published.
	DiscardRaw bool
	// Tables are the tables of main with their keys, in a stable order.
	Tables []stream.Table
	// Step is told of each step that changes what is on the disk, by name; nil:
	// nobody is. A crash trial ends the process there, and a trial of a disk
	// that fails returns the error that the step meets.
	Step func(name string) error
}

// Warehouse is an opened folder. Opening does no I/O beyond reading the
// embedded schema.
type Warehouse struct {
	cfg  Config
	disk durable.Disk
	defs map[string]stream.Definition
	meta []stream.Definition
	mart []MartView
}

// Open reads the embedded schema and checks that every table has its file.
func Open(cfg Config) (*Warehouse, error) {
	defs, meta, err := Definitions()
	if err != nil {
		return nil, err
	}
	for _, t := range cfg.Tables {
		if _, ok := defs[t.Name]; !ok {
			return nil, fmt.Errorf("open warehouse: table %q has no file in schema/", t.Name)
		}
	}
	mart, err := MartViews()
	if err != nil {
		return nil, err
	}
	return &Warehouse{cfg: cfg, disk: durable.Disk{Step: cfg.Step, Label: stepLabel}, defs: defs, meta: meta, mart: mart}, nil
}

// Disk does the steps on the disk of the warehouse.
func (w *Warehouse) Disk() durable.Disk { return w.disk }

// Dir is the folder of the warehouse.
func (w *Warehouse) Dir() string { return w.cfg.Dir }

// Tables are the tables of main, in the order of the configuration.
func (w *Warehouse) Tables() []stream.Table { return w.cfg.Tables }

// Definition gives the columns of a table of main.
func (w *Warehouse) Definition(table string) stream.Definition { return w.defs[table] }

// Definitions gives the columns of all tables of main by name.
func (w *Warehouse) Definitions() map[string]stream.Definition { return w.defs }

// CatalogPath is what readers open: two symlinks away from the newest version.
func (w *Warehouse) CatalogPath() string { return filepath.Join(w.cfg.Dir, CatalogFile) }

// RawPath is the landing folder of a run.
func (w *Warehouse) RawPath(run string) string { return filepath.Join(w.cfg.Dir, rawDir, run) }

// VersionPath is the folder of a published version.
func (w *Warehouse) VersionPath(run string) string {
	return filepath.Join(w.cfg.Dir, versionsDir, run)
}

// VersionCatalog is the DuckDB file of a published version.
func (w *Warehouse) VersionCatalog(run string) string {
	return filepath.Join(w.VersionPath(run), CatalogFile)
}

func (w *Warehouse) path(parts ...string) string {
	return filepath.Join(append([]string{w.cfg.Dir}, parts...)...)
}

// makeFolders creates the folder: open to readers where versions are
// published, closed where answers of the service and state are kept.
func (w *Warehouse) makeFolders() error {
	for _, name := range []string{versionsDir, seriesDir} {
		if err := w.makePublic(w.path(name)); err != nil {
			return w.atPlace(err)
		}
	}
	for _, name := range []string{rawDir, stateDir} {
		if err := os.MkdirAll(w.path(name), privateDir); err != nil {
			return w.atPlace(err)
		}
	}
	return nil
}

// Latest returns the run that readers see now; ok is false before the first
// publish.
func (w *Warehouse) Latest() (run string, ok bool, err error) {
	target, err := os.Readlink(w.path(latestLink))
	// What is no link, such as the copy that a restore made of it, leads nowhere.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		return "", false, nil
	}
	if err != nil {
		return "", false, w.atPlace(err)
	}
	return filepath.Base(target), true, nil
}

// Versions lists the published versions, oldest first.
func (w *Warehouse) Versions() ([]string, error) {
	runs, err := folders(w.path(versionsDir))
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	return runs, nil
}

// Free is the room in bytes on the disk that holds the warehouse, or will hold
// it; -1 where the system does not say.
func (w *Warehouse) Free() (int64, error) {
	dir := w.existing()
	free, err := freeBytes(dir)
	if err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return free, nil
}
