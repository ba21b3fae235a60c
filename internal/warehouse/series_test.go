package warehouse_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestADamagedFileOfAVersionReplacesNoIntactFile damages a file of the newest version. The series contains
// an intact copy of the file, as in a warehouse that was copied without its hard links. The next draft
// completes the series and must keep the intact copy.
func TestADamagedFileOfAVersionReplacesNoIntactFile(t *testing.T) {
	w := open(t)
	m := publish(t, w, firstNight, "one")
	fileInSeries := seriesFile(w, "2026-11-01")
	intact := harness.MustValue(os.ReadFile(fileInSeries))
	harness.Must(t, os.Remove(fileInSeries))
	harness.Must(t, os.WriteFile(fileInSeries, intact, 0o644))
	harness.Must(t, os.Chtimes(fileInSeries, firstNightAt, firstNightAt)) // the copy has another modification time
	damaged := append([]byte{}, intact...)
	damaged[len(damaged)/2] ^= 1
	harness.Must(t, os.WriteFile(filepath.Join(w.Folder.VersionPath(m.RunID), "product_listing_tags.parquet"), damaged, 0o644))

	d, err := w.BeginFrom(t.Context(), "20261102T020000Z", firstNightAt.AddDate(0, 0, 1), "")
	harness.Must(t, err)
	harness.Must(t, d.Discard())
	got := harness.MustValue(os.ReadFile(fileInSeries))
	if !cmp.Equal(intact, got) {
		t.Error("the intact file of the series was replaced by the damaged one of the version, want it kept")
	}
	if _, err := os.Stat(filepath.Join(w.Folder.Dir(), "parquet", ".manifests", "index.json")); err != nil {
		t.Error(err)
	}
}

// TestTheOldFilesOfADayAreKeptWhileItIsReplaced publishes a second run of a day. When the new file has
// been moved into the series, .replaced must contain the file of the first run. After the publish,
// .replaced must not exist.
func TestTheOldFilesOfADayAreKeptWhileItIsReplaced(t *testing.T) {
	const secondRun = "20261101T030000Z"
	for _, isChanged := range []bool{true, false} {
		w := open(t)
		first := publish(t, w, firstNight, "one")
		firstContent, replaced := contentOf(t, seriesFile(w, "2026-11-01")), path(w, "parquet", ".replaced", firstNight, tagsFile)
		moves := 0
		w = openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(step, file string) error {
			if step != "after rename "+tagsFile || file != seriesFile(w, "2026-11-01") {
				return nil
			}
			moves++
			if got := contentOf(t, replaced); isChanged && got != firstContent || !isChanged && got != "" {
				t.Errorf("changed %t: the file in .replaced has %d bytes, want the %d bytes of the first run if the file changed, or else no file", isChanged,
					len(got), len(firstContent))
			}
			if got := w.Series.IntactFile(checksum.NewCache(t.Context()), first, first.Tables[0]); isChanged && got != replaced {
				t.Errorf("the intact file is %q, want %q", got, replaced)
			}
			return nil
		}})
		d, err := w.Begin(t.Context(), secondRun, firstNightAt.Add(time.Hour))
		harness.Must(t, err)
		editManifest(t, w, w.Folder.DayManifestPath("2026-11-01"), func(m *warehouse.Manifest) { // an unchanged and a lost file must not stop the others
			m.Tables = append([]warehouse.ManifestTable{{Name: "unchanged"}, {Name: "orders", FileSum: checksum.FileSum{File: "orders.parquet", SHA256: "lost"}}}, m.Tables...)
		})
		if isChanged {
			harness.Must(t, d.Exec(t.Context(), "UPDATE main.product_listing_tags SET name = 'two'"))
			writeTagsFile(t, d)
		} else {
			_, err := d.CopyUnchanged(tagsTable)
			harness.Must(t, err)
		}
		m, err := d.Publish(t.Context(), slices.Clone(tableFiles))
		harness.Must(t, err)
		if moves != 1 || exists(t, path(w, "parquet", ".replaced")) {
			t.Errorf("changed %t: the file was moved %d times, .replaced exists: %t; want once and false", isChanged, moves, exists(t, path(w, "parquet", ".replaced")))
		}
		if got, err := w.Series.ReadDayManifest("2026-11-01", secondRun); err != nil || got.Tables[0].SHA256 != m.Tables[0].SHA256 {
			t.Errorf("the manifest of the day has %+v (%v), want the tables of run %s", got.Tables, err, secondRun)
		}
		if got := w.Series.IntactFile(checksum.NewCache(t.Context()), m, m.Tables[0]); got != seriesFile(w, "2026-11-01") {
			t.Errorf("the intact file is %q, want %q", got, seriesFile(w, "2026-11-01"))
		}
	}
}

// TestTheOldFilesOfADayAreKeptBesideDamagedOnes damages the file of the second run of a day after the switch. The series then
// has no intact file of the second run.
func TestTheOldFilesOfADayAreKeptBesideDamagedOnes(t *testing.T) {
	const secondRun = "20261101T030000Z"
	w := open(t)
	first := publish(t, w, firstNight, "one")
	damaged := path(w, "versions", secondRun, tagsFile)
	isDamaged := false
	w = openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(step, _ string) error {
		if step == "after link latest" && !isDamaged {
			isDamaged = true
			flipBit(t, damaged, 30)
		}
		return nil
	}})
	_, err := beginDraft(t, w, secondRun, "two").Publish(t.Context(), slices.Clone(tableFiles))
	if !errors.As(err, new(*warehouse.ExtendError)) {
		t.Fatalf("got %v, want an *ExtendError", err)
	}
	want := path(w, "parquet", ".replaced", firstNight, tagsFile)
	if contentOf(t, want) == "" {
		t.Errorf("the file of run %s, the only intact file of the day, is not kept", first.RunID)
	}
}

// TestAnIntactFileIsFoundInTheVersion removes the copy of a file in the series, and then damages the
// copy in the version.
func TestAnIntactFileIsFoundInTheVersion(t *testing.T) {
	w := open(t)
	m := publish(t, w, firstNight, "one")
	find := func() string { return w.Series.IntactFile(checksum.NewCache(t.Context()), m, m.Tables[0]) }
	harness.Must(t, os.Remove(seriesFile(w, "2026-11-01")))
	if got, want := find(), filepath.Join(w.Folder.VersionPath(firstNight), tagsFile); got != want {
		t.Errorf("the intact file is %q, want %q", got, want)
	}
	flipBit(t, filepath.Join(w.Folder.VersionPath(firstNight), tagsFile), 40)
	if got := find(); got != "" {
		t.Errorf("the intact file is %q, want none", got)
	}
}

// TestMissingDaysAreAddedLater publishes three nights of two days while the series cannot be written. The nights must
// be published, their versions must be kept, and Complete must add the last night of each day.
func TestMissingDaysAreAddedLater(t *testing.T) {
	w := openKeeping(t, 1)
	if days, err := w.Series.Complete(); err != nil || len(days) > 0 {
		t.Errorf("before the first publish, the days %v were added (%v), want none", days, err)
	}
	publish(t, w, firstNight, "one")
	table := path(w, "parquet", tagsTable)
	harness.Must(t, errors.Join(os.Rename(table, table+"~"), os.WriteFile(table, nil, 0o600)))
	const lateNight = "20261102T030000Z"
	var days []string
	for _, run := range []string{secondNight, lateNight, thirdNight} {
		at, _ := warehouse.RunTime(run)
		days = slices.Compact(append(days, warehouse.DayOf(at)))
		_, err := publishDraft(t, w, beginDraft(t, w, run, run))
		var afterSwitch *warehouse.AfterSwitchError
		if !errors.As(err, &afterSwitch) || afterSwitch.Run != run {
			t.Fatalf("the night ended with %v, want an AfterSwitchError of %s", err, run)
		}
		var extendErr *warehouse.ExtendError
		if !errors.As(err, &extendErr) || !slices.Equal(extendErr.Days, days) || !errors.Is(err, syscall.ENOTDIR) ||
			!strings.Contains(err.Error(), "extend the Parquet series by "+strings.Join(days, ", ")+": ") {
			t.Errorf("the night ended with %v, want an ExtendError of %v", err, days)
		}
		if got := newestTag(t, w); got != run {
			t.Errorf("readers see %s, want %s", got, run)
		}
	}
	if got, err := w.Series.MissingDays(); err != nil || !slices.Equal(got, days) {
		t.Errorf("the missing days are %v (%v), want %v", got, err, days)
	}
	if _, err := w.Series.Complete(); !errors.As(err, new(*warehouse.ExtendError)) {
		t.Errorf("the error of completing the series is %v, want an ExtendError", err)
	}
	if got := prune(t, w, keepAllDays); !slices.Equal(got, []string{"versions/" + firstNight}) {
		t.Errorf("prune removed %v, want the version whose day is in the series", got)
	}
	harness.Must(t, errors.Join(os.Remove(table), os.Rename(table+"~", table)))
	if got, err := w.Series.Complete(); err != nil || !slices.Equal(got, days) {
		t.Errorf("the days %v were added (%v), want %v", got, err, days)
	}
	requireSeriesDays(t, w, "2026-11-01", "2026-11-02", "2026-11-03")
	if index, err := w.Series.Index(); err != nil || index["2026-11-02"] != lateNight || index["2026-11-03"] != thirdNight {
		t.Errorf("the index has %v (%v), want the last night of each day", index, err)
	}
	if got, err := w.Series.Complete(); err != nil || len(got) > 0 {
		t.Errorf("a second Complete added the days %v (%v), want none", got, err)
	}
}

// TestALostIndexIsWrittenAgain removes or damages the index. The next draft must write the index again
// in two cases: after the first night, and in a warehouse of an early program, which has no files of
// changes. In other cases days may be lost too, and only a repair of the series must write the index.
func TestALostIndexIsWrittenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		publish func(*testing.T, *warehouse.Warehouse, string, string) warehouse.Manifest
		damage  func(file string) error
		nights  int
		// isWritten means that the next draft writes the index again.
		isWritten bool
	}{
		"a lost index without files of changes": {publish, os.Remove, 2, true},
		"a lost index after the first night":    {publishFull, os.Remove, 1, true},
		"a lost index after two nights":         {publishFull, os.Remove, 2, false},
		"half an index":                         {publishFull, func(file string) error { return os.Truncate(file, 30) }, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := openKeeping(t, 3)
			runs := []string{firstNight, secondNight}[:c.nights]
			for _, run := range runs {
				c.publish(t, w, run, run)
			}
			harness.Must(t, c.damage(w.Series.IndexPath()))
			d := beginDraft(t, w, thirdNight, "three")
			harness.Must(t, d.Discard())
			want := map[string]string{}
			if c.isWritten {
				for _, run := range runs {
					at, _ := warehouse.RunTime(run)
					want[warehouse.DayOf(at)] = run
				}
			}
			index, err := w.Series.Index()
			if diff := cmp.Diff(want, index); diff != "" || (err == nil) != c.isWritten {
				t.Errorf("got error %v, want no error: %t; index (-want +got):\n%s", err, c.isWritten, diff)
			}
		})
	}
}

// TestTheIndexIsWrittenOnlyIfItChanges calls ChangeIndex with an intact, a damaged and an unreadable
// index.
func TestTheIndexIsWrittenOnlyIfItChanges(t *testing.T) {
	w := openKeeping(t, 3)
	for _, run := range []string{firstNight, secondNight, thirdNight} {
		publishFull(t, w, run, run)
	}
	w, steps := openRecording(t, w)
	harness.Must(t, w.Series.ChangeIndex(func(map[string]string) {}))
	if len(*steps) > 0 {
		t.Errorf("an unchanged index caused the disk operations %v, want none", *steps)
	}
	// A new index would lack the first day, and verify would not report that day.
	flipBit(t, w.Series.IndexPath(), 30)
	harness.Must(t, os.Remove(w.Folder.DayManifestPath("2026-11-01")))
	if days, err := w.Series.MissingDays(); err != nil || len(days) > 0 {
		t.Errorf("with a damaged index the missing days are %v (%v), want none, because the manifest of the newest day is intact", days, err)
	}
	harness.Must(t, w.Series.ChangeIndex(func(days map[string]string) { delete(days, "2026-11-02") }))
	_, pruneErr := w.Pruner.Prune(warehouse.Retention{Daily: 1}, firstNightAt, false)
	_, rollbackErr := w.Rollback(secondNight, firstNightAt.AddDate(0, 0, 3))
	harness.Must(t, errors.Join(pruneErr, rollbackErr))
	if index, err := w.Series.Index(); !errors.As(err, new(*warehouse.DamagedError)) {
		t.Errorf("a damaged index became %v (%v), want it unchanged for a repair", index, err)
	}
	harness.Must(t, errors.Join(os.Remove(w.Series.IndexPath()), os.Mkdir(w.Series.IndexPath(), 0o700)))
	if err := w.Series.ChangeIndex(func(map[string]string) {}); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("the error of an unreadable index is %v, want %v", err, syscall.EISDIR)
	}
}

// TestDaysAreFoundByTheirFiles lists the days of a series with files of killed runs and of other
// programs.
func TestDaysAreFoundByTheirFiles(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	for _, name := range []string{"product_listing_tags/snapshot_date=2026-10-31/product_listing_tags.parquet", "product_listing_tags/snapshot_date=2026-10-30/.product_listing_tags.parquet",
		"product_listing_tags/snapshot_date=2026-10-29/notes.txt", "product_listing_tags/snapshot_date=soon/a.parquet", ".manifests/snapshot_date=2026-10-28.json"} {
		file := path(w, "parquet", filepath.FromSlash(name))
		harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)))
	}
	if got, want := w.Series.Days(), []string{"2026-10-28", "2026-10-31", "2026-11-01", "2026-11-02"}; !slices.Equal(got, want) {
		t.Errorf("the days are %v, want %v", got, want)
	}
	if got, want := w.Series.DayFiles("2026-10-31"), []string{seriesFile(w, "2026-10-31")}; !slices.Equal(got, want) {
		t.Errorf("the files of a day are %v, want %v", got, want)
	}
	if got := w.Series.DayFiles("2026-10-30"); len(got) > 0 {
		t.Errorf("the files of a day without files are %v, want none", got)
	}
}

// TestThePathOfAWarehouseIsNoPattern lists the days of a warehouse whose path, as a pattern, would not match itself.
func TestThePathOfAWarehouseIsNoPattern(t *testing.T) {
	w := openWith(t, warehouse.Config{Dir: filepath.Join(t.TempDir(), "w[1]")})
	harness.Must(t, os.MkdirAll(path(w, "state"), 0o700))
	publish(t, w, firstNight, "one")
	if days := w.Series.Days(); !slices.Equal(days, []string{"2026-11-01"}) {
		t.Errorf("the series has the days %v, want the day of the night", days)
	}
}

// TestADayManifestIsOfItsDayAndRun reads the manifest of a day for other days and runs. ReadDayManifest
// must return a DamagedError.
func TestADayManifestIsOfItsDayAndRun(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	for _, c := range []struct{ day, run, want string }{
		{"2026-11-01", "", ""}, {"2026-11-01", firstNight, ""}, {"2026-11-01", secondNight, "it is the manifest of"}, {"2026-11-03", "", "it is missing"},
	} {
		m, err := w.Series.ReadDayManifest(c.day, c.run)
		var damaged *warehouse.DamagedError
		if c.want == "" && (err != nil || m.RunID != firstNight) || c.want != "" && (!errors.As(err, &damaged) || !strings.Contains(damaged.Problem, c.want)) {
			t.Errorf("the manifest of day %q and run %q is of %s (%v), want the first night or %q", c.day, c.run, m.RunID, err, c.want)
		}
	}
	harness.Must(t, os.Rename(w.Folder.DayManifestPath("2026-11-01"), w.Folder.DayManifestPath("2026-11-03")))
	var damaged *warehouse.DamagedError
	if _, err := w.Series.ReadDayManifest("2026-11-03", ""); !errors.As(err, &damaged) || damaged.Problem != "it is the manifest of 2026-11-01" {
		t.Errorf("the error for the manifest of another day is %v, want a DamagedError that names the day", err)
	}
	if days := w.Series.ManifestDays(); !maps.Equal(days, map[string]string{"2026-11-02": secondNight}) {
		t.Errorf("the days with a manifest are %v, want 2026-11-02", days)
	}
}

func TestNamesOfTheSeriesAreSplit(t *testing.T) {
	for file, want := range map[string]string{
		"parquet/orders/snapshot_date=2026-11-01/orders.parquet": "orders 2026-11-01 true",
		"parquet/.manifests/snapshot_date=2026-11-01.json":       "  false",
		"parquet/orders/2026-11-01/orders.parquet":               "  false",
		"state/orders/snapshot_date=2026-11-01/orders.parquet":   "  false",
		"parquet/orders/snapshot_date=2026-11-01/x/a.parquet":    "  false",
	} {
		table, day, ok := warehouse.SplitSeriesFile(file)
		if got := fmt.Sprint(table, " ", day, " ", ok); got != want {
			t.Errorf("%s is split into %q, want %q", file, got, want)
		}
	}
}

func TestDaysAreInUTC(t *testing.T) {
	at := time.Date(2026, 11, 1, 23, 0, 0, 0, time.FixedZone("", -2*3600))
	if got := warehouse.DayOf(at); got != "2026-11-02" {
		t.Errorf("the day of %s is %s, want 2026-11-02", at, got)
	}
}

func TestSourceRunIsTheRunOfTheSnapshot(t *testing.T) {
	for _, c := range []struct {
		m    warehouse.Manifest
		want string
	}{
		{warehouse.Manifest{RunID: "a", Night: "b", Kind: ledger.Rebuild}, "b"},
		{warehouse.Manifest{RunID: "a", Kind: ledger.Rebuild}, "a"},
		{warehouse.Manifest{RunID: "a", Night: "b", Kind: ledger.Refresh}, "a"},
	} {
		if got := c.m.SourceRun(); got != c.want {
			t.Errorf("the source run of %+v is %s, want %s", c.m, got, c.want)
		}
	}
}
