package load_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// TestMetaIsTheSumOfItsChanges publishes versions that add rows to meta, change, repeat
// and remove them, and restores the meta of each from the files alone.
func TestMetaIsTheSumOfItsChanges(t *testing.T) {
	t.Parallel()
	tables := slices.DeleteFunc(stream.Tables(stream.All()), func(x stream.Table) bool { return x.Name != "tags" })
	wh, err := warehouse.Open(warehouse.Config{Dir: t.TempDir(), KeepVersions: 1, MemoryLimit: "256MB", Threads: 1, Program: "test", Tables: tables})
	must(t, err)
	begun := time.Date(2026, 11, 1, 2, 0, 0, 123456000, time.UTC)
	var want []string
	for i, change := range []string{
		`INSERT INTO meta.rejects (run_id, seq, raw) VALUES ('a', 1, 'x'), ('a', 1, 'x'), ('a', 2, NULL), ('a', 3, '"q"' || chr(10) || 'ü')`,
		`DELETE FROM meta.rejects WHERE seq = 2`,
		`INSERT INTO meta.requests (run_id, stream, latency_p50_ms) VALUES ('b', 's', 0.100001), ('b', 't', 12345678901.999999)`,
		`UPDATE meta.requests SET latency_p50_ms = NULL WHERE stream = 's'; INSERT INTO meta.rejects (run_id, seq, raw) VALUES ('a', 1, 'x')`,
		`INSERT INTO meta.runs (run_id, started_at) VALUES ('c', TIMESTAMPTZ '2026-11-01 02:00:00.123456+00')`,
		``,
	} {
		at := begun.AddDate(0, 0, i)
		run := at.Format("20060102T150405Z")
		d, err := wh.Begin(t.Context(), run, at)
		must(t, err)
		if change != "" {
			must(t, d.Exec(t.Context(), strings.Split(change, "; ")...))
		}
		want = metaRows(t, d, wh.Catalog.MetaDefinitions())
		must(t, load.WriteMeta(t.Context(), d, wh.Catalog.MetaDefinitions()))
		files, err := load.WriteParquet(t.Context(), d, wh.Catalog.Definitions(), tables, nil)
		must(t, err)
		_, err = d.Publish(t.Context(), files)
		must(t, err)
		told, damaged := wh.MetaLog.Files(run)
		if len(told) != i+1 || len(damaged) > 0 {
			t.Fatalf("meta of %s is told by %v, damaged %v", run, told, damaged)
		}
		again, err := wh.BeginFrom(t.Context(), run+"-2", at.AddDate(0, 0, 1), "")
		must(t, err)
		must(t, load.RestoreMeta(t.Context(), again, wh.Catalog.MetaDefinitions(), told))
		if diff := cmp.Diff(want, metaRows(t, again, wh.Catalog.MetaDefinitions())); diff != "" {
			t.Errorf("after %q meta is restored otherwise (-want +got):\n%s", change, diff)
		}
		must(t, again.Discard())
	}
	if len(want) != 7 {
		t.Errorf("meta has %d rows in the end: %v", len(want), want)
	}
}

func metaRows(t *testing.T, d *warehouse.Draft, metas []stream.Definition) (all []string) {
	t.Helper()
	for _, def := range metas {
		query := fmt.Sprintf("SELECT '%s ' || x::VARCHAR FROM meta.%[1]s x", def.Name)
		err := d.EachRow(t.Context(), []string{query}, func(scan func(...any) error) error {
			var row string
			err := scan(&row)
			all = append(all, row)
			return err
		})
		must(t, errors.Join(err))
	}
	slices.Sort(all)
	return all
}
