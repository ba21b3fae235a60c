package damage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// copiesTrial contains copies of parquet/ and state/, one for each step in which the last night extends parquet/.
type copiesTrial struct {
	*trials.Harness
	copies []string
	// contentsAt contains the tables at the time of each night.
	contentsAt map[time.Time]map[string][]string
}

// newCopiesTrial runs nights at these times.
func newCopiesTrial(t *testing.T, times []time.Time) *copiesTrial {
	t.Helper()
	c := &copiesTrial{Harness: trials.NewHarness(t, trials.TrialWorld(5), "product_listings", "orders"), contentsAt: map[time.Time]map[string][]string{}}
	dir := t.TempDir()
	for i, at := range times {
		isSwitched := false
		c.Config.Warehouse.Step = func(name, _ string) error {
			isSwitched = isSwitched || name == "after rename latest" && i == len(times)-1
			if isSwitched && strings.HasPrefix(name, "after ") {
				to := filepath.Join(dir, fmt.Sprintf("%03d", len(c.copies)))
				for _, name := range []string{"state", "parquet"} {
					copyTree(t, c.Path(name), filepath.Join(to, name), false)
				}
				c.copies = append(c.copies, to)
			}
			return nil
		}
		c.Service.Advance(1)
		c.At = at
		c.MustComplete(pipeline.Run(t.Context(), c.Config))
		c.contentsAt[at] = contents(t, c.Path("catalog.duckdb"))
	}
	c.Config.Warehouse.Step = nil
	return c
}

// mix returns a folder with files of two copies, as a slow copy has. The files of each folder of a table come from one
// of the copies, chosen at random, and the files of state/ from the earlier copy.
func (c *copiesTrial) mix(random *rand.Rand, earlier, later int) string {
	c.T.Helper()
	dir := c.T.TempDir()
	isEarly := map[string]bool{"state": true} // whether the files of a folder come from the earlier copy
	for _, i := range []int{earlier, later} {
		testharness.Must(c.T, filepath.WalkDir(c.copies[i], func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, _ := filepath.Rel(c.copies[i], path)
			parts := strings.Split(name, string(filepath.Separator))
			folder := parts[0]
			if folder == "parquet" {
				folder = filepath.Join(parts[:2]...)
			}
			if _, isDecided := isEarly[folder]; !isDecided {
				isEarly[folder] = random.IntN(2) == 0
			}
			if isEarly[folder] != (i == earlier) {
				return nil
			}
			return errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700), os.Link(path, filepath.Join(dir, name)))
		}))
	}
	return dir
}

// restore rebuilds the catalog of a copy in a new warehouse, and returns the time of the restored night. The tables must
// be those of this night. If the copy has an incomplete day, the rebuild may fail. With --skip-damaged, it must then
// restore a night. From a mixture of two copies, it may restore older tables, with the grade carried_forward. A lost night
// must be reported.
func (c *copiesTrial) restore(t *testing.T, copyDir string, isMixture bool) time.Time {
	t.Helper()
	cfg := c.Config
	cfg.Now = func() time.Time { return c.At.Add(time.Hour) }
	rebuild := func(skipDamaged bool) (repair.RebuildResult, error) {
		cfg.Warehouse.Dir = t.TempDir()
		copyTree(t, copyDir, cfg.Warehouse.Dir, false)
		return repair.Rebuild(t.Context(), trials.RepairConfig(cfg), skipDamaged)
	}
	r, err := rebuild(false)
	skipDamaged := errors.As(err, new(*repair.SeriesError))
	if skipDamaged {
		r, err = rebuild(true)
	}
	defer func() { testharness.Must(t, os.RemoveAll(cfg.Warehouse.Dir)) }()
	want, isNight := c.contentsAt[r.Last]
	if err != nil || !isNight {
		t.Errorf("%s: the rebuild restored %s, want the time of a night: %v", copyDir, r.Last, err)
		return r.Last
	}
	ledgerText, err := os.ReadFile(filepath.Join(copyDir, "state", "runs.jsonl"))
	testharness.Must(t, err)
	if isLost := r.Last.Before(c.At) && strings.Contains(string(ledgerText), c.At.Format("20060102T150405Z")); isLost && r.LostRun == "" {
		t.Errorf("%s: restored to %s, but the loss of the night of %s is not reported", copyDir, r.Last, c.At)
	}
	got := contents(t, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"))
	for table, rows := range want {
		isCarried := skipDamaged && isMixture && slices.ContainsFunc(r.Manifest.Tables, func(m warehouse.ManifestTable) bool {
			return "main."+m.Name == table && m.Grade == stream.CarriedForward
		})
		// A rebuild that lacks the newest run records the loss in meta.runs.
		recordsLoss := table == "meta.runs" && (r.LostRun != "" || skipDamaged)
		isMixedHistory := isMixture && !strings.HasPrefix(table, "main.")
		if !isCarried && !recordsLoss && !isMixedHistory && !cmp.Equal(rows, got[table]) {
			t.Errorf("%s: restored to %s: %s differs from the table of that night", copyDir, r.Last, table)
		}
	}
	if isMixture {
		return r.Last
	}
	if v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true); err != nil || len(v.Damage) > 0 {
		t.Errorf("%s: restored to %s: verify found %+v, %v, want no damage", copyDir, r.Last, v.Damage, err)
	}
	return r.Last
}

// contents returns the rows of every table and view of a catalog as sorted JSON.
func contents(t *testing.T, file string) map[string][]string {
	t.Helper()
	db := trials.OpenUnmanaged(t, file+"?access_mode=read_only&threads=1")
	defer db.Close()
	all := map[string][]string{}
	for _, row := range trials.Query(t, db, `SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal
		UNION ALL SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal`) {
		name := row[0].String
		rows := []string{}
		for _, result := range trials.Query(t, db, fmt.Sprintf("SELECT to_json(x)::VARCHAR FROM (SELECT * FROM %s) x ORDER BY 1", name)) {
			rows = append(rows, result[0].String)
		}
		all[name] = rows
	}
	return all
}

// TestTrialCopiesOfTheSeriesContainOneNight copies parquet/ and state/ at every step in which a
// night extends parquet/, for the first and for the second night of a day. The catalog rebuilt from a
// copy must have all values of this night or all values of the previous night.
func TestTrialCopiesOfTheSeriesContainOneNight(t *testing.T) {
	first := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for _, hours := range []time.Duration{27, 48}[:trials.Size(2, 1)] {
		t.Run(fmt.Sprintf("night after %d hours", hours), func(t *testing.T) {
			t.Parallel()
			times := []time.Time{first, first.Add(24 * time.Hour), first.Add(hours * time.Hour)}
			c := newCopiesTrial(t, times)
			nights := map[time.Time]int{} // numbers of copies by the time of the restored night
			stride := trials.Size(3, 9)   // most steps only change the name of a temporary file
			for i := 0; i < len(c.copies); i += stride {
				nights[c.restore(t, c.copies[i], false)]++
			}
			nights[c.restore(t, c.copies[len(c.copies)-1], false)]++
			if len(nights) != 2 || nights[times[1]] == 0 || nights[times[2]] == 0 {
				t.Errorf("%d copies were restored to the nights %v, want the last two nights", len(c.copies), nights)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range trials.Size(8, 3) {
				earlier := random.IntN(len(c.copies) - 1)
				later := earlier + 1 + random.IntN(len(c.copies)-1-earlier)
				c.restore(t, c.mix(random, earlier, later), true)
			}
		})
	}
}
