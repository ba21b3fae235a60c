package warehouse

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMirrorPathAcceptsOnlyFilesOfABackup checks names that the manifest of a backup could contain.
// Only clean names of files in parquet/ and state/ are valid.
func TestMirrorPathAcceptsOnlyFilesOfABackup(t *testing.T) {
	w := New(Config{Dir: t.TempDir()})
	for _, name := range []string{"", "../x", "/etc/x", "state", "state/", "state/../../x", "state/../latest", "state/./x", "state//x", `state/a\b`,
		"parquet/../versions/r/catalog.duckdb", "parquet/../../x", "versions/r/catalog.duckdb", "state/lock", "state/backup.lock"} {
		if path, err := w.Mirror.Path(name); err == nil {
			t.Errorf("Path(%q) returned %s, want an error", name, path)
		}
	}
	for _, name := range []string{"state/runs.jsonl", "parquet/.manifests/2026-11-20.json", "parquet/outlets/2026-11-20/outlets.parquet"} {
		if path, err := w.Mirror.Path(name); err != nil || path != filepath.Join(w.Folder.Dir(), name) {
			t.Errorf("Path(%q) returned %s (%v), want the path below the warehouse", name, path, err)
		}
	}
}

// TestMirrorSkipsFilesOfRunningCommands lists a warehouse with locks, the cache and a scratch folder.
func TestMirrorSkipsFilesOfRunningCommands(t *testing.T) {
	w := New(Config{Dir: t.TempDir()})
	for _, name := range []string{"state/.sealed.12345.x/past.orders.parquet", "state/lock", "state/backup.lock", "state/seen/list", "state/inbox/one", "parquet/.meta/one"} {
		path := filepath.Join(w.Folder.Dir(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := w.Mirror.Files()
	if err != nil || len(files) != 2 || files[0].File != "state/inbox/one" || files[1].File != "parquet/.meta/one" {
		t.Errorf("a backup contains %v (%v), want state/inbox/one and parquet/.meta/one", files, err)
	}
}
