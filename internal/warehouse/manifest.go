package warehouse

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Format numbers what the files of a warehouse mean. It rises when an older
// program would misread or spoil what this one writes; a new column or table is
// no reason, since the schema is compared by itself.
const Format = 1

// NewerError says that a newer program has written the warehouse.
type NewerError struct {
	Run, Program string
	Format       int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("open the warehouse: version %s was written by placementsync %s in format %d and this program knows %d; "+
		"nothing was changed: use that program or a newer one", e.Run, e.Program, e.Format, Format)
}

// CheckFormat returns a *NewerError when a newer program has written the newest
// version. A manifest that cannot be read says nothing.
func (w *Warehouse) CheckFormat() error {
	latest, ok, err := w.Latest()
	if err != nil || !ok {
		return err
	}
	if m := w.manifestOf(latest); m.Format > Format {
		return &NewerError{latest, m.Program, m.Format}
	}
	return nil
}

// manifestOf is the manifest of a published version; empty when unknown.
func (w *Warehouse) manifestOf(run string) Manifest {
	m, err := w.ReadManifest(run)
	if err != nil {
		return Manifest{}
	}
	return m
}

// Manifest is what a version says about itself, beside its files.
type Manifest struct {
	RunID string `json:"run_id"`
	// Kind is that of the run, see Run; empty: a night.
	Kind       string    `json:"kind,omitempty"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Program    string    `json:"program_version"`
	Schema     string    `json:"schema_version"`
	Format     int       `json:"format"`
	// Previous is the version that this one was built on; empty: on nothing.
	Previous string `json:"previous,omitempty"`
	// Night is the newest night that this one builds on, where Previous is a
	// refresh: refreshes come and go between nights, and what leads back from
	// one to the other must not go with them.
	Night   string          `json:"night,omitempty"`
	Catalog ManifestFileSum `json:"catalog"`
	Tables  []ManifestTable `json:"tables"`
}

// ManifestFileSum identifies a file's bytes.
type ManifestFileSum struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ManifestTable describes one table of the snapshot. Grade is the worst of the
// streams that fill it; KeyMin and KeyMax are those of its first key column.
type ManifestTable struct {
	Name  string `json:"table"`
	Rows  int64  `json:"rows"`
	Grade string `json:"grade"`
	// Note says what the table lacks although its grade does not show it.
	Note   string `json:"note,omitempty"`
	KeyMin string `json:"key_min"`
	KeyMax string `json:"key_max"`
	ManifestFileSum
}

// base is the version that a rollback leads to: the night before.
func (m Manifest) base() string { return cmp.Or(m.Night, m.Previous) }

// nightBefore is the night that a refresh builds on; empty when the version is
// a night itself, or unknown.
func (w *Warehouse) nightBefore(run string) string {
	m, err := w.ReadManifest(run)
	if err != nil || m.Kind != Refresh {
		return ""
	}
	return m.base()
}

// ReadManifest reads the manifest of a published version.
func (w *Warehouse) ReadManifest(run string) (Manifest, error) {
	var m Manifest
	data, err := os.ReadFile(filepath.Join(w.VersionPath(run), ManifestFile))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read the manifest of %s: %w", run, err)
	}
	return m, nil
}

// sumFile hashes a file of a version.
func sumFile(dir, name string) (sum ManifestFileSum, err error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return ManifestFileSum{name, n, hex.EncodeToString(h.Sum(nil))}, err
}
