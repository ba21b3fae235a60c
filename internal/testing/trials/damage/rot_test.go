package damage_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	r := newRotTrial(t)
	inParallel(t, 1, trials.Size(40, 14), r.damageAndCompare)
	t.Log(r)
}

// TestTortureRot damages files, folders and links of every kind in copies of a warehouse. A file is changed by one bit,
// truncated, removed, or swapped with or replaced by another. If "verify" reports no damage, all values must be
// unchanged. The next night must fail, or publish the same rows as with an undamaged warehouse.
func TestTortureRot(t *testing.T) {
	trials.RequireTorture(t)
	const damages, workers = 540, 6
	startedAt := time.Now()
	r := newRotTrial(t)
	inParallel(t, workers, damages, r.damageAndCompare)
	trials.RecordTrial(t, startedAt, func() torture.Trial {
		return torture.Trial{Name: "rot",
			Procedure: "one file, folder or link of a warehouse of 6 nights is changed by one bit, truncated, removed, replaced or swapped",
			Runs:      damages, Outcome: r.String()}
	})
}

// rotTrial damages copies of the warehouse of a repairTrial, which tests the repairs.
type rotTrial struct {
	*repairTrial
	// nextSums contains the checksums of the published tables after one more night without damage.
	nextSums map[string]string

	mu                        sync.Mutex
	found, refused, published int
}

func (r *rotTrial) String() string {
	return fmt.Sprintf("%d found by verify, the others harmless, all values equal; next nights: %d refused with a repair command, "+
		"%d published correct rows; silently wrong: 0", r.found, r.refused, r.published)
}

func newRotTrial(t *testing.T) *rotTrial {
	t.Helper()
	r := &rotTrial{repairTrial: newRepairTrial(t)}
	r.NextDay()
	cfg := r.copyWarehouse(t)
	_, err := pipeline.Run(t.Context(), cfg)
	testharness.Must(t, err)
	r.nextSums = tableSums(t, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"))
	return r
}

// copyWarehouse copies the warehouse and returns the configuration of a run in the copy.
func (r *rotTrial) copyWarehouse(t *testing.T) pipeline.Config {
	t.Helper()
	cfg := r.Config
	cfg.Warehouse.Dir = t.TempDir()
	copyTree(t, r.Config.Warehouse.Dir, cfg.Warehouse.Dir, true)
	return cfg
}

// damageAndCompare damages a copy of the warehouse, verifies it, and runs the next night. i selects the damage.
func (r *rotTrial) damageAndCompare(t *testing.T, i int) {
	t.Helper()
	cfg := r.copyWarehouse(t)
	defer func() { testharness.Must(t, os.RemoveAll(cfg.Warehouse.Dir)) }()
	random := rand.New(rand.NewPCG(uint64(i), 99))
	description := damageOneOf(t, random, cfg.Warehouse.Dir, r.pathKinds[i%len(r.pathKinds)])
	mustReport := r.damageMustBeReported(readTree(t, cfg.Warehouse.Dir))
	v, err := repair.Verify(t.Context(), trials.RepairConfig(cfg), true)
	testharness.Must(t, err)
	for _, d := range v.Damage {
		if d.Problem == "" || d.Affected == "" || !strings.HasPrefix(d.Repair.Command(), "placementsync ") {
			t.Errorf("%s: verify reports %+v, want a problem, the affected data and a command", description, d)
		}
	}
	if len(v.Damage) == 0 && (mustReport || !r.sameContent(t, cfg.Warehouse.Dir)) {
		t.Errorf("%s: verify found no damage", description)
	}
	_, err = pipeline.Run(t.Context(), cfg)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(v.Damage) > 0 {
		r.found++
	}
	if err != nil {
		r.refused++
		if !strings.Contains(err.Error(), "placementsync ") {
			t.Errorf("%s: the night failed with %v, want an error that names a command", description, err)
		}
		return
	}
	r.published++
	got := tableSums(t, filepath.Join(cfg.Warehouse.Dir, "catalog.duckdb"))
	for table, sum := range r.nextSums {
		if got[table] != sum {
			t.Errorf("%s: the night published wrong rows of %s", description, table)
		}
	}
}

// tableSums returns a checksum of the rows of every table of a catalog. Of meta, it contains only the tables deletions,
// details and tables.
func tableSums(t *testing.T, file string) map[string]string {
	t.Helper()
	db := trials.OpenUnmanaged(t, file+"?access_mode=read_only&threads=1")
	defer db.Close()
	all := map[string]string{}
	var parts []string
	for _, row := range trials.Query(t, db, `SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal
		AND (schema_name <> 'meta' OR table_name IN ('deletions', 'details', 'tables'))`) {
		parts = append(parts, fmt.Sprintf("SELECT '%s', count(*) || ' ' || coalesce(sum(hash(to_json(x)::VARCHAR)::HUGEINT), 0) FROM %[1]s x", row[0].String))
	}
	for _, row := range trials.Query(t, db, strings.Join(parts, " UNION ALL ")) {
		all[row[0].String] = row[1].String
	}
	return all
}

// runRepair runs the command of a repair.
func runRepair(ctx context.Context, cfg pipeline.Config, step repair.Step, now time.Time) error {
	wh := warehouse.New(cfg.Warehouse)
	var err error
	switch step.Kind {
	case repair.RebuildSeries:
		_, err = repair.RestoreSeries(ctx, trials.RepairConfig(cfg), warehouse.Retention{Daily: 30})
	case repair.RebuildCatalog, repair.RebuildSkippingDamage:
		_, err = repair.Rebuild(ctx, trials.RepairConfig(cfg), step.Kind == repair.RebuildSkippingDamage)
	case repair.RollBack:
		_, err = wh.Rollback(step.Version, now)
	case repair.DropVersion:
		err = wh.Versions.Drop(step.Version, false)
	default:
		err = fmt.Errorf("no copy is left: %s", step.Command())
	}
	return err
}

func execSQL(db *sql.DB, statement string) error {
	_, err := db.Exec(statement)
	return err
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, data, 0o644))
}
