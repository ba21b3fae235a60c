package repair_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestFullVerifyKeepsItsOwnResult stores the result of a full verify, and then the result of a verify
// without --read-data. The later result must not replace the result of the full verify, and reading a
// damaged record must be an error.
func TestFullVerifyKeepsItsOwnResult(t *testing.T) {
	t.Parallel()
	w := open(t)
	full := repair.VerifyRecord{At: firstNightAt, ReadData: true, Result: "damaged", DamagedFiles: []string{"a"}}
	harness.Must(t, repair.SaveRecord(w.Folder, full))
	harness.Must(t, repair.SaveRecord(w.Folder, repair.VerifyRecord{At: firstNightAt.AddDate(0, 0, 1), Result: "whole"}))
	for readData, want := range map[bool]string{true: "damaged", false: "whole"} {
		if v, ok, err := repair.LastRecord(w.Folder, readData); !ok || err != nil || v.Result != want || v.ReadData != readData {
			t.Errorf("readData %t: got %+v, stored %t (%v), want the result %q", readData, v, ok, err, want)
		}
	}
	failed, err := repair.SaveFailure(w.Folder, true, firstNightAt.AddDate(0, 0, 2), errors.New("no disk"))
	harness.Must(t, err)
	if v, ok, err := repair.LastRecord(w.Folder, true); !ok || err != nil || !v.At.Equal(firstNightAt) || v.Result != "damaged" || len(v.DamagedFiles) != 1 ||
		v.Error != "no disk" || !v.FailedAt.Equal(failed.FailedAt) {
		t.Errorf("after a failure: got %+v, stored %t (%v), want the earlier result with the error and the time of the failure", v, ok, err)
	}
	if v, _, err := repair.LastRecord(w.Folder, false); err != nil || v.Result != "whole" || v.Error != "" {
		t.Errorf("the record of names and sizes after the failure: got %+v (%v), want the result \"whole\" without an error", v, err)
	}
	harness.Must(t, os.WriteFile(filepath.Join(w.Folder.Dir(), "state", "verified.json"), []byte("{"), 0o600))
	if _, ok, err := repair.LastRecord(w.Folder, true); ok || err == nil {
		t.Errorf("a damaged record: got stored %t (%v), want false and an error", ok, err)
	}
}

// TestFailureNeedsAWarehouse saves the failure of a verify in an empty folder. The folder must stay empty.
func TestFailureNeedsAWarehouse(t *testing.T) {
	t.Parallel()
	if _, err := repair.SaveFailure(openWith(t, warehouse.Config{Dir: t.TempDir()}).Folder, true, firstNightAt, errors.New("no disk")); !errors.As(err, new(*warehouse.NoWarehouseError)) {
		t.Errorf("SaveFailure without a warehouse: got %v, want a *NoWarehouseError", err)
	}
}

// TestAFullVerifyAlsoChecksSizes stores the result of a verify of every byte. SaveRecord must also store
// it as the result of a verify of names and sizes.
func TestAFullVerifyAlsoChecksSizes(t *testing.T) {
	t.Parallel()
	w := open(t)
	harness.Must(t, repair.SaveRecord(w.Folder, repair.VerifyRecord{At: firstNightAt, ReadData: true, Result: repair.Whole}))
	for _, readData := range []bool{true, false} {
		if v, ok, err := repair.LastRecord(w.Folder, readData); err != nil || !ok || v.Result != repair.Whole || v.ReadData != readData {
			t.Errorf("readData %t: the record is %+v, stored %t (%v), want the result \"whole\"", readData, v, ok, err)
		}
	}
}
