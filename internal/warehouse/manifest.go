package warehouse

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

// Format numbers the meaning of the files of a warehouse. Raise it when an older program
// would misread or spoil what this one writes. A new column or table is no reason: the
// schema is compared separately.
const Format = 1

// NewerError says that a newer program wrote the warehouse.
type NewerError struct {
	Run, Program string
	Format       int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("open the warehouse: version %s was written by placementsync %s in format %d and this program knows %d; "+
		"nothing was changed: use that program or a newer one", e.Run, e.Program, e.Format, Format)
}

// CheckFormat returns a *NewerError when a newer program wrote the newest version. It
// ignores a manifest that cannot be read.
func (v *Versions) CheckFormat() error {
	latest, ok, err := v.Latest()
	if err != nil || !ok {
		return err
	}
	if m := v.manifestOrNone(latest); m.Format > Format {
		return &NewerError{latest, m.Program, m.Format}
	}
	return nil
}

// manifestOrNone is the manifest of a published version; empty when it cannot be read.
func (v *Versions) manifestOrNone(run string) Manifest {
	m, _ := v.ReadManifest(run)
	return m
}

// Manifest describes a version and is stored beside its files.
type Manifest struct {
	RunID string `json:"run_id"`
	// Kind is that of the run, see Run; empty: a night.
	Kind       string    `json:"kind,omitempty"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Program    string    `json:"program_version"`
	Schema     string    `json:"schema_version"`
	Format     int       `json:"format"`
	// Previous is the version that this one was built on; empty: none.
	Previous string `json:"previous,omitempty"`
	// Night is the newest night that this one builds on, when Previous is a refresh.
	// Refreshes are removed between nights, and the link from night to night must
	// stay.
	Night   string           `json:"night,omitempty"`
	Catalog checksum.FileSum `json:"catalog"`
	// Entry is the run's line of the ledger, Meta what it changed in the schemas
	// meta and past. Nil means that the version has none.
	Entry  *checksum.FileSum `json:"entry,omitempty"`
	Meta   *ManifestMeta     `json:"meta,omitempty"`
	Tables []ManifestTable   `json:"tables"`
	// Lost are tables that the manifest of a day no longer names, since their
	// files were damaged.
	Lost []string `json:"lost,omitempty"`
	// FileErr is the error of the version's own manifest if Lineage read its copy instead.
	FileErr error `json:"-"`
}

// ManifestTable describes one table of the snapshot. Grade is the worst of the
// streams that fill it; KeyMin and KeyMax are those of its first key column.
type ManifestTable struct {
	Name  string `json:"table"`
	Rows  int64  `json:"rows"`
	Grade string `json:"grade"`
	// Note says what the table lacks and its grade does not show.
	Note   string `json:"note,omitempty"`
	KeyMin string `json:"key_min"`
	KeyMax string `json:"key_max"`
	checksum.FileSum
}

// ManifestMeta is the file with the rows that a version added to and removed from the
// tables of meta, relative to the version Base; with an empty Base it has all rows. Where
// Past is set it has the rows that the version added to the tables of past, too; programs up
// to 1.0.0 did not write them.
type ManifestMeta struct {
	Base string `json:"base,omitempty"`
	Past bool   `json:"past,omitempty"`
	checksum.FileSum
}

// Table returns the entry of a table. It is empty if there is none.
func (m Manifest) Table(name string) ManifestTable {
	return firstOf(m.Tables, func(t ManifestTable) bool { return t.Name == name })
}

// baseRun is the version that a rollback leads to: the night before.
func (m Manifest) baseRun() string { return cmp.Or(m.Night, m.Previous) }

// nightBefore is the night that a refresh builds on; empty when the version is a night
// itself, or unreadable.
func (v *Versions) nightBefore(run string) string {
	if m := v.manifestOrNone(run); m.Kind == ledger.Refresh {
		return m.baseRun()
	}
	return ""
}

// ReadManifest reads the manifest of a published version. It returns a *DamagedError
// when that is missing or not what was written.
func (v *Versions) ReadManifest(run string) (Manifest, error) {
	return v.ReadManifestFile(filepath.Join(v.folder.VersionPath(run), ManifestFile), run)
}

// ReadManifestFile reads the manifest of a run from any of its places. The run "" accepts any run.
func (v *Versions) ReadManifestFile(path, run string) (Manifest, error) {
	m, _, err := v.readManifestSum(path, run)
	return m, err
}

// readManifestSum also returns the checksum of the bytes that it read.
func (v *Versions) readManifestSum(path, run string) (m Manifest, sum checksum.FileSum, err error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, sum, v.folder.DamagedErr(path, "it is gone", err)
	case err != nil:
		return m, sum, fmt.Errorf("read the manifest of %s: %w", run, err)
	}
	if err := checksum.Unseal(data, &m); err != nil {
		return Manifest{}, sum, v.folder.DamagedErr(path, err.Error(), err)
	}
	if run != "" && m.RunID != run {
		return Manifest{}, sum, v.folder.DamagedErr(path, fmt.Sprintf("it is the one of %q", m.RunID), nil)
	}
	return m, checksum.SumText(v.folder.Relative(path), data), nil
}
