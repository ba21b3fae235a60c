package damage_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/backup"
	"placementsync/internal/bucket"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/testing/trials"
)

// restoreTrial is a backup of the warehouse of a repairTrial.
type restoreTrial struct {
	*repairTrial
	store   *s3sim.Server
	bucket  *bucket.Bucket
	objects map[string][]byte
	// filesOf contains the files of each object.
	filesOf map[string][]string
}

func newRestoreTrial(t *testing.T, warehouse *repairTrial) *restoreTrial {
	t.Helper()
	r := &restoreTrial{repairTrial: warehouse, filesOf: map[string][]string{}}
	r.bucket, r.store = trials.NewBucket(t, r.Harness)
	_, err := backup.Run(t.Context(), trials.BackupConfig(r.Config, r.bucket))
	testharness.Must(t, err)
	r.objects = r.store.Objects("store")
	for file, sum := range r.files {
		if name := "night/data/" + sum; r.objects[name] != nil && !strings.HasPrefix(file, "versions/") {
			r.filesOf[name] = append(r.filesOf[name], file)
		}
	}
	return r
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
	restored, err := backup.Restore(t.Context(), trials.BackupConfig(cfg, r.bucket))
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
	for round := 0; ; round++ {
		v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
		testharness.Must(t, err)
		plan := slices.DeleteFunc(repair.Plan(v.Damage), func(step repair.Step) bool { return step.Kind == repair.RunNight })
		if len(plan) == 0 {
			break
		}
		if round == 5 {
			t.Errorf("%s: after %d rounds of repairs verify still reports %+v", description, round, v.Damage)
			return false
		}
		for _, step := range plan {
			if err := r.run(t, cfg, step); err != nil {
				t.Errorf("%s: %s ended with %v", description, step.Command(), err)
				return false
			}
		}
	}
	got := r.readFacts(t, trials.Open(t, "?threads=1"), filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"), "catalog.duckdb")
	if lost := missingFacts(got, intact); len(lost) > 0 {
		t.Errorf("%s: %d of %d facts of intact files are missing: %v", description, len(lost), len(intact), lost[:min(4, len(lost))])
	}
	return len(missingFacts(got, r.visible)) == 0
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
