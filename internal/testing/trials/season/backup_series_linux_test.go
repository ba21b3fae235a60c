package season_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"placementsync/internal/backup"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestBackupAfterAnIncompleteDayContainsTheNight stops a published night before its day in the Parquet
// series is complete. A backup must leave out the day while the warehouse is locked. A restore from the
// next backup must contain the night.
func TestBackupAfterAnIncompleteDayContainsTheNight(t *testing.T) {
	s := newSeason(t, drawSeason(2, 1, nightSteps(t)))
	s.At = s.Service.Now().Add(2 * time.Hour)
	s.setConfig(s.job())
	s.MustComplete(pipeline.Run(t.Context(), s.Config))
	s.NextDay()
	cfg := s.Config
	cfg.Warehouse.Step = func(name, _ string) error {
		if strings.HasPrefix(name, "before copy of the day") {
			return errors.New("the process stops here")
		}
		return nil
	}
	_, err := pipeline.Run(t.Context(), cfg)
	published := trials.PublishedRun(t, s.Config.Warehouse.Dir)
	missing, seriesErr := trials.WarehouseOf(s.Config).Series.Missing()
	testharness.Must(t, seriesErr)
	if len(missing) != 1 || missing[0].RunID != published {
		t.Fatalf("the series lacks %d versions after the night with the error %v, want only run %s", len(missing), err, published)
	}
	lock, err := trials.WarehouseOf(s.Config).Lock("verify", s.At)
	testharness.Must(t, err)
	res, err := backup.Run(t.Context(), s.backupConfig())
	testharness.Must(t, err)
	if len(res.LeftOut) != 1 || !strings.Contains(res.LeftOut[0].Problem, published) {
		t.Errorf("the backup of a locked warehouse left out %v, want the day of run %s", res.LeftOut, published)
	}
	testharness.Must(t, lock.Release())
	res, err = backup.Run(t.Context(), s.backupConfig())
	if err != nil || len(res.LeftOut) > 0 || res.Run != published {
		t.Fatalf("the backup of run %s left out %v with the error %v, want the whole run %s", res.Run, res.LeftOut, err, published)
	}
	restoredCfg := s.Config
	restoredCfg.Warehouse.Dir = t.TempDir()
	backupCfg := s.backupConfig()
	backupCfg.Warehouse = trials.WarehouseOf(restoredCfg)
	_, err = backup.Restore(t.Context(), backupCfg)
	testharness.Must(t, err)
	r, err := repair.Rebuild(t.Context(), trials.RepairConfig(restoredCfg), false)
	testharness.Must(t, err)
	if !r.Last.Equal(s.At) {
		t.Errorf("the restored backup ends with the night of %s, want %s", r.Last, s.At)
	}
}
