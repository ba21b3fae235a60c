package integrity_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/integrity"
	"placementsync/internal/sqltext"
	"placementsync/internal/warehouse"
)

// TestAFullVerifyAlsoChecksSizes stores the result of a verify of every byte. SaveRecord must also store
// it as the result of a verify of names and sizes.
func TestAFullVerifyAlsoChecksSizes(t *testing.T) {
	t.Parallel()
	w := open(t)
	must(t, integrity.SaveRecord(w.Folder, integrity.VerifyRecord{At: night, ReadData: true, Result: integrity.Whole}))
	for _, readData := range []bool{true, false} {
		if v, ok, err := integrity.LastRecord(w.Folder, readData); err != nil || !ok || v.Result != integrity.Whole || v.ReadData != readData {
			t.Errorf("readData %t: the record is %+v, stored %t (%v), want the result \"whole\"", readData, v, ok, err)
		}
	}
}

// TestOtherValuesAreDescribed publishes rows that differ from their Parquet file only in a value. The
// damage must say so.
func TestOtherValuesAreDescribed(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, firstNight, "one")
	file := sqltext.Literal(filepath.Join(d.Dir, tags))
	must(t, d.Exec(t.Context(), sqltext.SQL("COPY (SELECT * REPLACE ('other' AS name) FROM main."+table+") TO "+file+" (FORMAT parquet)")))
	publish(t, w, d)
	found, err := integrity.Check(t.Context(), w, true)
	must(t, err)
	want := []integrity.Damage{{File: version1 + tags, Problem: "its rows have other values than the catalog", Cost: "catalog and Parquet disagree on table " + table,
		Repair: integrity.Repair{Kind: integrity.MendSeries}}}
	if diff := cmp.Diff(want, found.Damage); diff != "" {
		t.Errorf("damage (-want +got):\n%s", diff)
	}
}

// TestAFailedMoveOfADamagedFileIsAnError moves damaged files aside on a failing disk.
func TestAFailedMoveOfADamagedFileIsAnError(t *testing.T) {
	original := open(t)
	publishFull(t, original, firstNight, secondNight)
	for step, file := range map[string]string{"before rename " + tags: series1, "before rename of the day": manifest1, "before write index.json": manifest1, "before write of the day": series1} {
		w := clone(t, original)
		err := integrity.NewMender(openFailingAt(t, w, step)).SetAside(thirdNight, []integrity.Damage{{File: file}})
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v, want EIO", step, err)
		}
	}
}

// TestALostDayAndALostLineAreNamed damages whole days and lines of the ledger. The check must report
// the damaged file as lost.
func TestALostDayAndALostLineAreNamed(t *testing.T) {
	original := open(t)
	publishFull(t, original, firstNight, secondNight, thirdNight)
	for name, c := range map[string]struct {
		damage        func(d damager)
		file, problem string
	}{
		"a whole day without catalogs": {func(d damager) {
			d.remove(version1+"catalog.duckdb", version2, version3+"catalog.duckdb", changes2+".json", manifest2, filepath.Dir(series2))
		}, manifest2, "the whole day is gone"},
		"the manifest of a day without catalogs": {func(d damager) {
			d.remove(version1+"catalog.duckdb", version2, version3+"catalog.duckdb", changes2+".json", manifest2)
		}, manifest2, "it is gone"},
		"a line of the ledger": {func(d damager) { d.flip("state/runs.jsonl") }, "state/runs.jsonl", "damaged lines: 1"},
	} {
		w := clone(t, original)
		c.damage(damager{t, w})
		found, err := integrity.Check(t.Context(), w, true)
		must(t, err)
		if !slices.ContainsFunc(found.Damage, func(d integrity.Damage) bool { return d.File == c.file && d.Problem == c.problem && d.Lost }) {
			t.Errorf("%s: got damage %+v, want lost %s with the problem %q", name, found.Damage, c.file, c.problem)
		}
	}
	// The version that readers see is newer than the last intact line of a damaged ledger.
	w := clone(t, original)
	d := damager{t, w}
	keepLines(d, 2)
	data, err := os.ReadFile(d.path("state/runs.jsonl"))
	must(t, errors.Join(err, os.WriteFile(d.path("state/runs.jsonl"), append(data, "damaged\n"...), 0o600)))
	d.remove(manifest3, filepath.Dir(series3), changes3+".json", changes3+".changes")
	writeIndex(d, firstNight, secondNight)
	found, err := integrity.Check(t.Context(), w, false)
	must(t, err)
	for _, damage := range found.Damage {
		if damage.File == warehouse.LatestLink {
			t.Errorf("got %+v, want no damage of the link to the newest version", damage)
		}
	}
}
