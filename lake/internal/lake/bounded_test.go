package lake

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/schema"
)

// TestTrialMetadataOfManyNightsIsBounded commits 120 nights without rows, in each of which all tables of a
// warehouse change. After lake.keep_nights nights, the metadata files must not grow.
func TestTrialMetadataOfManyNightsIsBounded(t *testing.T) {
	harness.Long(t)
	const nights, maxBytes = 120, 20_000_000
	keepNights := config.Default().Lake.KeepNights
	settledNight := keepNights + keptMetadataFiles // from then on, all kept metadata files describe keepNights nights
	dir := t.TempDir()
	l, err := Open(t.Context(), Config{Catalog: SQLite, Name: "placementsync", Warehouse: dir, Namespace: "placements", KeepNights: keepNights, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	var settled int64
	for night := range nights {
		commitNight(t, l, first.AddDate(0, 0, night))
		if night == settledNight {
			settled = metadataBytes(t, dir)
		}
	}
	got := metadataBytes(t, dir)
	t.Logf("%.2f MB of metadata files after %d nights, %.2f MB after %d", float64(got)/1e6, nights, float64(settled)/1e6, settledNight+1)
	if growth := got - settled; got > maxBytes || growth > settled/100 {
		t.Errorf("%d bytes of metadata files after %d nights and %d after %d, want at most %d and no growth", got, nights, settled, settledNight+1, maxBytes)
	}
}

// commitNight commits a night without rows to all tables.
func commitNight(t *testing.T, l *Lake, at time.Time) {
	t.Helper()
	v := &Version{Run: at.Format("20060102T150405Z"), At: at, sources: allSources()}
	lakeTables, states, err := l.loadStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.checkOwner(lakeTables); err != nil {
		t.Fatal(err)
	}
	metadataFiles, err := l.listMetadata(t.Context(), v, lakeTables)
	if err != nil {
		t.Fatal(err)
	}
	var actions []action
	for _, s := range v.sources {
		actions = append(actions, action{source: s, checksum: v.Run, replace: true, metadataFiles: metadataFiles[s.name]})
	}
	l.planExpiry(v, lakeTables, states, actions)
	p := Published{lakeTables: lakeTables}
	if p.changes, err = l.commitActions(t.Context(), v, lakeTables, actions, &p); err == nil {
		err = l.Finish(t.Context(), p)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// allSources returns the tables of a warehouse.
func allSources() (sources []source) {
	definitions, metaDefinitions := schema.Definitions()
	for _, s := range stream.Tables(stream.All()) {
		def := definitions[s.Name]
		def.Columns = slices.Concat(def.Columns, stream.SystemColumns())
		sources = append(sources, source{name: tableName{current, s.Name}, def: def})
		def.Columns = slices.Concat(def.Columns, stream.ClosedColumns())
		sources = append(sources, source{name: tableName{past, s.Name}, def: def})
	}
	for _, def := range metaDefinitions {
		sources = append(sources, source{name: tableName{meta, def.Name}, def: def})
	}
	return sources
}

func metadataBytes(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, metadataSuffix) {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
