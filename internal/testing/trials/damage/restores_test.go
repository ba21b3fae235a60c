package damage_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/backup"
	objectstore "placementsync/internal/bucket"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// restoreTrial is a backup of the warehouse of a repairTrial.
type restoreTrial struct {
	*repairTrial
	store   *s3sim.Server
	bucket  *objectstore.Bucket
	objects map[string][]byte
	// filesOf contains the files of each object.
	filesOf map[string][]string
}

func newRestoreTrial(t *testing.T, warehouse *repairTrial) *restoreTrial {
	t.Helper()
	r := &restoreTrial{repairTrial: warehouse, store: s3sim.New("store"), filesOf: map[string][]string{}}
	server := httptest.NewServer(r.store)
	t.Cleanup(server.Close)
	var err error
	r.bucket, err = objectstore.Open(t.Context(), objectstore.Config{Endpoint: server.URL, Region: "eu-test-1", PathStyle: true,
		AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey}, "store", "night")
	testharness.Must(t, err)
	_, err = backup.Run(t.Context(), r.backupConfig(r.Config, r.At))
	testharness.Must(t, err)
	r.objects = r.store.Objects("store")
	for file, sum := range r.files {
		if name := "night/data/" + sum; r.objects[name] != nil && !strings.HasPrefix(file, "versions/") {
			r.filesOf[name] = append(r.filesOf[name], file)
		}
	}
	return r
}

func (r *restoreTrial) backupConfig(cfg pipeline.Config, at time.Time) backup.Config {
	return backup.Config{Warehouse: warehouse.New(cfg.Warehouse), Bucket: r.bucket, Program: "test", Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
}

// restoreDamaged reports whether no data was lost.
func (r *restoreTrial) restoreDamaged(t *testing.T, random *rand.Rand) bool {
	t.Helper()
	names := slices.Sorted(maps.Keys(r.filesOf))
	manifests := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(r.filesOf[name][0], ".json") })
	damaged := map[string]bool{} // files
	description := ""
	r.store.Change("store", func(objects map[string][]byte) {
		clear(objects)
		maps.Copy(objects, r.objects)
		for range 1 + random.IntN(3) {
			name := names[random.IntN(len(names))]
			if random.IntN(3) == 0 {
				name = manifests[random.IntN(len(manifests))]
			}
			switch data := slices.Clone(r.objects[name]); {
			case random.IntN(3) == 0 && len(data) > 0:
				data[random.IntN(len(data))] ^= 1 << random.IntN(8)
				objects[name] = data
			case random.IntN(2) == 0 && len(data) > 0:
				objects[name] = data[:random.IntN(len(data))]
			default:
				delete(objects, name)
			}
			description += fmt.Sprintf("%v; ", r.filesOf[name])
			for _, file := range r.filesOf[name] {
				damaged[file] = true
			}
		}
	})
	// The same damage in a folder shows which data is intact.
	folder := filepath.Join(t.TempDir(), "folder")
	for _, top := range []string{"parquet", "state"} {
		copyTree(t, r.Path(top), filepath.Join(folder, top), true)
	}
	for file := range damaged {
		testharness.Must(t, os.Remove(filepath.Join(folder, file)))
	}
	intact := r.intactFacts(t, folder)

	cfg := r.Config
	cfg.Warehouse.Dir = filepath.Join(t.TempDir(), "restored")
	at := r.At.Add(time.Hour)
	cfg.Now = func() time.Time { at = at.Add(time.Second); return at }
	restored, err := backup.Restore(t.Context(), r.backupConfig(cfg, at))
	testharness.Must(t, err)
	for _, d := range restored.Damaged {
		if !damaged[d.File] {
			t.Errorf("%s: the restore left out %s: %s", description, d.File, d.Problem)
		}
		delete(damaged, d.File)
	}
	if len(damaged) > 0 {
		t.Errorf("%s: the restore does not name %v", description, slices.Sorted(maps.Keys(damaged)))
	}
	if _, err = repair.Rebuild(t.Context(), trials.RepairConfig(cfg), true); err != nil {
		t.Errorf("%s: the rebuild ended with %v", description, err)
		return false
	}
	v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
	testharness.Must(t, err)
	needsOnlyANight := func(v repair.Report) bool {
		return !slices.ContainsFunc(repair.Plan(v.Damage), func(step repair.Step) bool { return step.Kind != repair.RunNight })
	}
	repairUntil(t, cfg, v, description, needsOnlyANight, func(step repair.Step) error { return r.run(t, cfg, step) })
	got := r.readFacts(t, trials.Open(t, "?threads=1"), filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"), "catalog.duckdb")
	if lost := missingFacts(got, intact); len(lost) > 0 {
		t.Errorf("%s: %d of %d facts of intact files are missing: %v", description, len(lost), len(intact), lost[:min(4, len(lost))])
	}
	return len(missingFacts(got, r.visible)) == 0
}

// repairUntil runs the commands that "verify" proposes, beginning with the report v, until a report is done. All of them
// must succeed. ranNight means that one of them was a night.
func repairUntil(t *testing.T, cfg pipeline.Config, v repair.Report, description string, isDone func(v repair.Report) bool,
	run func(step repair.Step) error) (ranNight, isRepaired bool) {
	t.Helper()
	const maxRounds = 5
	for range maxRounds {
		if isDone(v) {
			return ranNight, true
		}
		for _, step := range repair.Plan(v.Damage) {
			ranNight = ranNight || step.Kind == repair.RunNight
			if err := run(step); err != nil {
				t.Errorf("%s: %s ended with %v", description, step.Command(), err)
				return ranNight, false
			}
		}
		var err error
		v, err = repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
		testharness.Must(t, err)
	}
	t.Errorf("%s: after %d rounds of repairs verify still reports %+v", description, maxRounds, v.Damage)
	return ranNight, false
}

// missingFacts returns the facts of want that got does not contain.
func missingFacts(got, want facts) []string {
	var missing []string
	for fact := range want {
		if !got[fact] {
			missing = append(missing, fact)
		}
	}
	slices.Sort(missing)
	return missing
}
