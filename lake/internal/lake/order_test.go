package lake

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"placementsync/internal/stream"
)

// TestOnlyALaterNightIsPublished checks which nights may follow a published night. Another run of
// the same time, such as a rebuild, may have different rows, so it is rejected.
func TestOnlyALaterNightIsPublished(t *testing.T) {
	t.Parallel()
	const night, otherNight = "20261120T020000Z", "20261121T090000Z"
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		run       string
		at        time.Time
		shown     publishedState
		isRefused bool
	}{
		"an empty lake":                {night, at, publishedState{}, false},
		"the same night again":         {night, at, publishedState{run: night, at: at}, false},
		"a later night":                {night, at, publishedState{run: otherNight, at: at.Add(-time.Microsecond)}, false},
		"an earlier night":             {night, at, publishedState{run: otherNight, at: at.Add(time.Microsecond)}, true},
		"another run of the same time": {night, at, publishedState{run: otherNight, at: at}, true},
	} {
		if err := checkOrder(&Version{Run: c.run, At: c.at}, c.shown); (err != nil) != c.isRefused {
			t.Errorf("%s: got %v, want an error: %t", name, err, c.isRefused)
		}
	}
}

// TestTheFilesOfATableAreLimited plans the next night of tables with few and with many files.
func TestTheFilesOfATableAreLimited(t *testing.T) {
	t.Parallel()
	for files, isRewritten := range map[int]bool{maxFiles - 1: false, maxFiles: true} {
		state, m := publishedState{checksum: "shown", files: files}, measure{checksum: "all", inLakeChecksum: "shown"}
		a, err := (&Version{}).planRows(t.Context(), source{}, state, m)
		if err != nil || a.replace != isRewritten {
			t.Errorf("a table of %d files is rewritten as one file: %t (%v), want %t", files, a.replace, err, isRewritten)
		}
	}
}

// TestTheNewestNightOfEachTableIsKept keeps one night of a lake in which one table was not published since the night before.
func TestTheNewestNightOfEachTableIsKept(t *testing.T) {
	t.Parallel()
	const night, nextNight = "20261120T020000Z", "20261121T020000Z"
	states := map[tableName]publishedState{{current, "left"}: {run: night}, {current, "shown"}: {run: nextNight}}
	if got := oldNights(nil, states, 1); len(got) > 0 {
		t.Errorf("the nights %v would be removed, want none: one of them is the only night of a table", got)
	}
}

// TestATableOfAnotherProgramIsNotOwn creates a table at the place of a table of the lake, without the name that a publish records.
func TestATableOfAnotherProgramIsNotOwn(t *testing.T) {
	t.Parallel()
	l := &Lake{cfg: Config{Namespace: "x"}, files: &files{root: "file:///lake"}}
	m, err := newMetadata(stream.Definition{}, "file:///lake/x_current/foreign")
	if err != nil {
		t.Fatal(err)
	}
	foreign := table.New(table.Identifier{"x_current", "foreign"}, m, "", nil, nil)
	if own := l.ownTables(tables{{current, "foreign"}: foreign}); len(own) > 0 {
		t.Error("expire would remove the files of a table of another program")
	}
}

// TestTheOwnerFileOfAnotherCatalogIsKept publishes the first nights of two catalogs at the same time. The other catalog wrote its
// owner file first.
func TestTheOwnerFileOfAnotherCatalogIsKept(t *testing.T) {
	t.Parallel()
	cfg := Config{Warehouse: t.TempDir(), Namespace: "x", Name: "mine"}
	f, err := openFiles(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := &Lake{cfg: cfg, files: f, id: "of-this-catalog"}
	other := []byte(`{"lake_id": "of-the-other", "catalog_name": "theirs"}`)
	if err := os.WriteFile(localPath(l.ownerFile()), other, 0o600); err != nil {
		t.Fatal(err)
	}
	err = l.writeOwnerFile()
	if got, _ := os.ReadFile(localPath(l.ownerFile())); err == nil || !bytes.Equal(got, other) {
		t.Errorf("got %v, and the owner file is %s; want an error, and the file of the other catalog", err, got)
	}
}
