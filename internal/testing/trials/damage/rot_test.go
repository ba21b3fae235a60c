package damage_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// TestTrialRotIsFound is the short form of TestTortureRot.
func TestTrialRotIsFound(t *testing.T) {
	t.Parallel()
	r := newRotTrial(t, 4)
	for i := range len(r.kinds()) {
		r.damageAndCompare(t, i)
	}
	t.Log(r.total)
}

// TestTortureRot damages files of every kind in copies of a warehouse of ten nights. It flips a bit
// of a file, truncates it, removes it or swaps it with another file. If "verify" reports no damage, all
// values must be unchanged. If "verify" reports damage but no loss, the proposed repairs must restore
// the data. The next night must fail, or publish the same rows as with an undamaged warehouse.
func TestTortureRot(t *testing.T) {
	trials.RequireTorture(t)
	r := newRotTrial(t, 10)
	const damages, workers = 540, 6
	startedAt := time.Now()
	defer func() {
		recordRotTrial(t, startedAt, "", &r.total)
		for kind, counts := range r.byKind {
			recordRotTrial(t, startedAt, kind, counts)
		}
	}()
	t.Run("all", func(t *testing.T) {
		for first := range workers {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				for i := first; i < damages; i += workers {
					r.damageAndCompare(t, i)
				}
			})
		}
	})
}

// recordRotTrial stores the results for one kind of files, or for all kinds if kind is empty.
func recordRotTrial(t *testing.T, startedAt time.Time, kind string, counts *rotCounts) {
	t.Helper()
	name, damage := "rot", "one file of a warehouse of 10 nights is changed by one bit, truncated, removed or swapped with a file of its kind"
	if kind != "" {
		name, damage = "rot in "+kind, "the same damage, only in these files"
	}
	trials.RecordTrial(t, startedAt, func() torture.Trial {
		return torture.Trial{Name: name, Procedure: damage, Runs: counts.damaged, Outcome: counts.String()}
	})
}

// rotTrial contains the undamaged warehouse, whose copies are damaged.
type rotTrial struct {
	*trials.Harness
	// publishedSums contains the checksums of the published tables. nextSums contains the checksums
	// after one more night.
	publishedSums, nextSums map[string]string

	mu     sync.Mutex
	total  rotCounts
	byKind map[string]*rotCounts
}

// rotCounts counts damages and their results. Three counts are for the nights after a damage: refused
// counts failed nights, published counts nights that published correct rows, and wrong counts nights
// that published wrong rows.
type rotCounts struct{ damaged, harmless, found, refused, published, repaired, lost, wrong int }

func (f rotCounts) String() string {
	return fmt.Sprintf("%d harmless, all values equal; %d found by verify: %d repaired, %d reported as lost; "+
		"next nights: %d refused with a repair command, %d published correct rows; silently wrong: %d",
		f.harmless, f.found, f.repaired, f.lost, f.refused, f.published, f.wrong)
}

// increment increments one of the counts, for a kind of files and for all files.
func (r *rotTrial) increment(kind string, field func(f *rotCounts) *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKind[kind] == nil {
		r.byKind[kind] = &rotCounts{}
	}
	*field(&r.total)++
	*field(r.byKind[kind])++
}

func newRotTrial(t *testing.T, nights int) *rotTrial {
	t.Helper()
	h := trials.NewHarness(t, trials.TrialWorld(21), trials.FewStreams()...)
	h.Config.Warehouse.KeepVersions = 3
	for range nights {
		h.GoodNight()
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("interrupted by the test"))
	h.FailedNight(stopped, trials.ExitInterrupted)
	r := &rotTrial{Harness: h, byKind: map[string]*rotCounts{}}
	r.publishedSums = tableSums(t, h.Path("catalog.duckdb"), true)
	h.NextDay()
	undamaged := r.copyWarehouse(t)
	_, err := pipeline.Run(t.Context(), undamaged)
	testharness.Must(t, err)
	r.nextSums = tableSums(t, filepath.Join(undamaged.Warehouse.Dir, "catalog.duckdb"), false)
	return r
}

// tableSums returns a checksum of the rows of every table. If withAllMeta is false, the only
// tables of meta are meta.deletions, meta.details and meta.tables.
func tableSums(t *testing.T, file string, withAllMeta bool) map[string]string {
	t.Helper()
	db := trials.OpenUnmanaged(t, file+"?access_mode=read_only&threads=1")
	defer db.Close()
	all := map[string]string{}
	var parts []string
	for _, row := range trials.Query(t, db, "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal") {
		name := row[0].String
		if withAllMeta || !strings.HasPrefix(name, "meta.") || name == "meta.deletions" || name == "meta.details" || name == "meta.tables" {
			parts = append(parts, fmt.Sprintf("SELECT '%s', count(*) || ' ' || coalesce(sum(hash(to_json(x)::VARCHAR)::HUGEINT), 0) FROM %[1]s x", name))
		}
	}
	for _, row := range trials.Query(t, db, strings.Join(parts, " UNION ALL ")) {
		all[row[0].String] = row[1].String
	}
	return all
}

// copyWarehouse copies the warehouse and returns the configuration of a run in the copy.
func (r *rotTrial) copyWarehouse(t *testing.T) pipeline.Config {
	t.Helper()
	cfg := r.Config
	cfg.Warehouse.Dir = t.TempDir()
	copyTree(t, r.Config.Warehouse.Dir, cfg.Warehouse.Dir, false)
	return cfg
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, data, 0o644))
}

// kinds returns a pattern of paths for each kind of files.
func (r *rotTrial) kinds() []string {
	return []string{"latest/catalog.duckdb", "versions/*/catalog.duckdb", "versions/*/manifest.json", "versions/*/run.json", "versions/*/meta.changes",
		"latest/*.parquet", "parquet/*/*/*.parquet", "parquet/.manifests/*", "parquet/.meta/*.changes", "parquet/.meta/*.json",
		"raw/*/journal.jsonl", "raw/*/*.bodies", "state/runs.jsonl", "state/unfinished.json", "state/lock", "latest", "catalog.duckdb"}
}

// damageAndCompare damages two copies of the warehouse in the same way. It verifies and repairs one
// copy, and runs the next night in the other. i selects the damage.
func (r *rotTrial) damageAndCompare(t *testing.T, i int) {
	t.Helper()
	kinds := r.kinds()
	kind := kinds[i%len(kinds)]
	toRepair, toContinue := r.copyWarehouse(t), r.copyWarehouse(t)
	description := r.damage(t, rand.New(rand.NewPCG(uint64(i), 99)), toRepair.Warehouse.Dir, kind)
	r.damage(t, rand.New(rand.NewPCG(uint64(i), 99)), toContinue.Warehouse.Dir, kind)
	r.increment(kind, func(f *rotCounts) *int { return &f.damaged })
	defer func() {
		if t.Failed() {
			t.Logf("damage %d: %s: %s", i, kind, description)
		}
	}()
	r.verifyAndRepair(t, toRepair, kind, description)
	r.runNextNight(t, toContinue, kind, description)
	testharness.Must(t, errors.Join(os.RemoveAll(toRepair.Warehouse.Dir), os.RemoveAll(toContinue.Warehouse.Dir)))
}

// damage damages one file of a kind and returns a description. Changed bytes appear in all hard links
// of the file.
func (r *rotTrial) damage(t *testing.T, random *rand.Rand, dir, kind string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, kind))
	testharness.Must(t, err)
	for i, file := range files {
		if folder, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
			files[i] = filepath.Join(folder, filepath.Base(file))
		}
	}
	slices.Sort(files)
	file := files[random.IntN(len(files))]
	name, _ := filepath.Rel(dir, file)
	if kind == "latest" || kind == "catalog.duckdb" {
		return name + " " + damageLink(t, random, dir, file)
	}
	return name + damageFile(t, random, file, files, []string{"flip", "flip", "flip", "flip", "truncate", "swap", "swap", "remove"})
}

func damageLink(t *testing.T, random *rand.Rand, dir, file string) string {
	t.Helper()
	testharness.Must(t, os.Remove(file))
	versions, err := filepath.Glob(filepath.Join(dir, "versions", "2*"))
	testharness.Must(t, err)
	versions = versions[:len(versions)-1] // a link to the newest version would be no damage
	switch target := filepath.Join("versions", filepath.Base(versions[random.IntN(len(versions))])); random.IntN(3) {
	case 0:
		testharness.Must(t, os.Symlink(target, file))
		return "points to " + target
	case 1:
		testharness.Must(t, os.Symlink("versions/20200101T000000Z", file))
		return "points to a missing version"
	}
	return "removed"
}

func flipBit(t *testing.T, file string, bit int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	testharness.Must(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, bit/8)
	testharness.Must(t, err)
	b[0] ^= 1 << (bit % 8)
	_, err = f.WriteAt(b, bit/8)
	testharness.Must(t, errors.Join(err, f.Close()))
}

// verifyAndRepair runs "verify" and the proposed repairs, and checks the results as TestTortureRot
// describes.
func (r *rotTrial) verifyAndRepair(t *testing.T, cfg pipeline.Config, kind, description string) {
	t.Helper()
	v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
	testharness.Must(t, err)
	if len(v.Damage) == 0 {
		r.increment(kind, func(f *rotCounts) *int { return &f.harmless })
		r.requireUnchanged(t, cfg, description)
		return
	}
	r.increment(kind, func(f *rotCounts) *int { return &f.found })
	for _, d := range v.Damage {
		hasRepair := strings.HasPrefix(d.Repair.Command(), "placementsync ")
		isResponse := d.Repair.Kind == repair.NoRepair && strings.HasPrefix(d.File, "raw/")
		if d.Problem == "" || d.Affected == "" || !hasRepair && !isResponse {
			t.Errorf("%s: verify reports %+v, want a problem, the affected data, and a command unless a stored response is damaged", description, d)
		}
	}
	if v.Result() == repair.DataLost {
		r.increment(kind, func(f *rotCounts) *int { return &f.lost })
		return
	}
	ranNight, isRepaired := repairUntil(t, cfg, v, description, func(v repair.Report) bool { return len(v.Damage) == 0 }, func(step repair.Step) error {
		return runRepair(t.Context(), cfg, step, r.At)
	})
	if !isRepaired {
		return
	}
	want := r.publishedSums
	if ranNight {
		want = r.nextSums
	}
	got := tableSums(t, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"), !ranNight)
	if !maps.Equal(want, got) {
		t.Errorf("%s: after the repair these tables differ: %v", description, differingTables(want, got))
		return
	}
	r.increment(kind, func(f *rotCounts) *int { return &f.repaired })
}

// requireUnchanged checks that the rows of the catalog are unchanged. It also checks that the bytes
// of the catalogs, Parquet files and files of changes (.changes) are unchanged.
func (r *rotTrial) requireUnchanged(t *testing.T, cfg pipeline.Config, description string) {
	t.Helper()
	if got := tableSums(t, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"), true); !maps.Equal(r.publishedSums, got) {
		t.Errorf("%s: verify found no damage, but these tables differ: %v", description, differingTables(r.publishedSums, got))
	}
	if filesChecksum(t, r.Config.Warehouse.Dir) != filesChecksum(t, cfg.Warehouse.Dir) {
		t.Errorf("%s: verify found no damage, but files of parquet/ or of a version differ", description)
	}
}

// filesChecksum returns a checksum of the catalogs, Parquet files and files of changes of a warehouse.
func filesChecksum(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	for _, pattern := range []string{"parquet/*/*/*.parquet", "versions/*/*.parquet", "versions/*/*.duckdb", "parquet/.meta/*.changes"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		testharness.Must(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			testharness.Must(t, err)
			fmt.Fprintf(h, "%s %x\n", strings.TrimPrefix(file, dir), sha256.Sum256(data))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// runRepair runs the command of a repair.
func runRepair(ctx context.Context, cfg pipeline.Config, step repair.Step, now time.Time) error {
	wh := warehouse.New(cfg.Warehouse)
	var err error
	switch step.Kind {
	case repair.RebuildSeries:
		_, err = repair.RestoreSeries(ctx, trials.RepairConfig(cfg), warehouse.Retention{Daily: 30})
	case repair.RebuildCatalog:
		_, err = repair.Rebuild(ctx, trials.RepairConfig(cfg), false)
	case repair.RebuildSkippingDamage:
		_, err = repair.Rebuild(ctx, trials.RepairConfig(cfg), true)
	case repair.RollBack:
		_, err = wh.Rollback(step.Version, now)
	case repair.ReplayNights:
		_, err = wh.Rollback(step.Version, now)
		for _, night := range strings.Fields(step.Nights) {
			if err == nil {
				_, err = pipeline.Replay(ctx, cfg, night)
			}
		}
	case repair.RunNight:
		_, err = pipeline.Run(ctx, cfg)
	case repair.DropVersion:
		err = wh.Versions.Drop(step.Version, false)
	default:
		err = fmt.Errorf("no copy is left: %s", step.Command())
	}
	return err
}

// runNextNight runs the next night in the damaged warehouse. The night must fail with an error that
// names a command, or publish the same rows as with an undamaged warehouse.
func (r *rotTrial) runNextNight(t *testing.T, cfg pipeline.Config, kind, description string) {
	t.Helper()
	_, err := pipeline.Run(t.Context(), cfg)
	if err != nil {
		r.increment(kind, func(f *rotCounts) *int { return &f.refused })
		if !strings.Contains(err.Error(), "placementsync ") {
			t.Errorf("%s: the night failed with %v, want an error that names a command", description, err)
		}
		return
	}
	if got := tableSums(t, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"), false); !maps.Equal(r.nextSums, got) {
		r.increment(kind, func(f *rotCounts) *int { return &f.wrong })
		t.Errorf("%s: the night published wrong rows of %v", description, differingTables(r.nextSums, got))
		return
	}
	r.increment(kind, func(f *rotCounts) *int { return &f.published })
}

func differingTables(want, got map[string]string) (names []string) {
	for name, sum := range want {
		if got[name] != sum {
			names = append(names, name)
		}
	}
	return names
}
