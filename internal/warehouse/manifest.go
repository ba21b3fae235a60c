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
	"placementsync/internal/stream"
)

// Format is the number of the format of a warehouse. Raise it if an older program would misread or
// damage the files of this program. Also raise it with the first new column or table after a release:
// without a new format, an older program would read all lists of the service before it finds the
// unknown table.
//
// Releases up to 1.0.1 wrote format 1. Format 2 has the tables meta.checks and meta.statuses.
const Format = 2

// NewerError means that a newer program wrote the warehouse.
type NewerError struct {
	Run, Program string
	Format       int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("open the warehouse: version %s was written by placementsync %s in format %d and this program knows %d; "+
		"nothing was changed: use that program or a newer one", e.Run, e.Program, e.Format, Format)
}

// CheckFormat returns a *NewerError if a newer program wrote the version that readers see. It ignores
// an unreadable manifest.
func (v *Versions) CheckFormat() error {
	latest, ok, err := v.Latest()
	if err != nil || !ok {
		return err
	}
	m, err := v.ReadManifest(latest)
	if err != nil {
		return nil
	}
	return m.CheckFormat()
}

// CheckFormat returns a *NewerError if a newer program wrote the manifest.
func (m Manifest) CheckFormat() error {
	if m.Format > Format {
		return &NewerError{m.RunID, m.Program, m.Format}
	}
	return nil
}

// Manifest describes a version. The folder of the version and the series contain it.
type Manifest struct {
	RunID string `json:"run_id"`
	// Kind is ledger.Run.Kind. Empty means a night.
	Kind       string    `json:"kind,omitempty"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Program    string    `json:"program_version"`
	Schema     string    `json:"schema_version"`
	Format     int       `json:"format"`
	// Previous is the version on which this version was built. It is empty on the first night.
	Previous string `json:"previous,omitempty"`
	// Night is set in two cases. If Previous is a refresh, Night is the newest night on which this
	// version builds; a rollback switches to it, because retention removes refreshes before nights. If
	// this version was rebuilt, Night is the run whose snapshot it contains.
	Night   string           `json:"night,omitempty"`
	Catalog checksum.FileSum `json:"catalog"`
	// LedgerLine is the file with a copy of the run's line in the ledger. Meta is the file with the
	// run's changes of the schemas meta and past. Nil means that the version has no such file.
	LedgerLine *checksum.FileSum `json:"entry,omitempty"`
	Meta       *ManifestMeta     `json:"meta,omitempty"`
	Tables     []ManifestTable   `json:"tables"`
	// Lost are the tables that a repair removed from the manifest of a day because their files
	// were damaged.
	Lost []string `json:"lost,omitempty"`
}

// ManifestTable describes one table of the snapshot. Grade is the worst grade of the streams that fill
// the table. KeyMin and KeyMax are the smallest and the largest value of the first key column.
type ManifestTable struct {
	Name  string       `json:"table"`
	Rows  int64        `json:"rows"`
	Grade stream.Grade `json:"grade"`
	// Note describes missing rows that the grade does not show.
	Note   string `json:"note,omitempty"`
	KeyMin string `json:"key_min"`
	KeyMax string `json:"key_max"`
	checksum.FileSum
}

// ManifestMeta describes the file with the changes of the schema meta relative to the version Base. If
// Base is empty, the file contains all rows. HasPast means that the file also contains the new rows of
// the schema past. Releases up to 1.0.0 did not write these rows.
type ManifestMeta struct {
	Base    string `json:"base,omitempty"`
	HasPast bool   `json:"past,omitempty"`
	checksum.FileSum
}

// Table returns the description of a table, or an empty one if the manifest does not contain the table.
func (m Manifest) Table(name string) ManifestTable {
	return firstOf(m.Tables, func(t ManifestTable) bool { return t.Name == name })
}

// baseRun returns the night on which the version builds. For a rebuilt version it returns the run whose
// snapshot the version contains. A rollback switches readers to the version of this run.
func (m Manifest) baseRun() string { return cmp.Or(m.Night, m.Previous) }

// SourceRun returns the run whose snapshot a version contains. This is the run of the version or, for a
// rebuilt version, the night whose files were used.
func (m Manifest) SourceRun() string {
	if m.Kind == ledger.Rebuild && m.Night != "" {
		return m.Night
	}
	return m.RunID
}

// ReadManifest reads the manifest of a version. It returns a *DamagedError if the manifest is
// missing or damaged.
func (v *Versions) ReadManifest(run string) (Manifest, error) {
	return v.ReadManifestFile(filepath.Join(v.folder.VersionPath(run), ManifestFile), run)
}

// ReadManifestFile is like ReadManifest, for any copy of a manifest. If run is empty, a manifest of any
// run is accepted.
func (v *Versions) ReadManifestFile(path, run string) (Manifest, error) {
	m, _, err := v.ReadManifestSum(path, run)
	return m, err
}

func (v *Versions) ReadManifestSum(path, run string) (m Manifest, sum checksum.FileSum, err error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, sum, v.folder.DamagedErr(path, "it is missing", err)
	case err != nil:
		return m, sum, fmt.Errorf("read the manifest of %s: %w", run, err)
	}
	if err := checksum.Unseal(data, &m); err != nil {
		return Manifest{}, sum, v.folder.DamagedErr(path, err.Error(), err)
	}
	if run != "" && m.RunID != run {
		return Manifest{}, sum, v.folder.DamagedErr(path, fmt.Sprintf("it is the manifest of %q", m.RunID), nil)
	}
	return m, checksum.SumText(v.folder.Relative(path), data), nil
}
