package integrity_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"placementsync/internal/integrity"
)

// TestFullVerifyKeepsItsOwnResult stores the result of a full verify and then that of a verify
// without --read-data. The later result must not replace the result of the full verify, and a
// damaged record must be an error.
func TestFullVerifyKeepsItsOwnResult(t *testing.T) {
	t.Parallel()
	w := open(t)
	full := integrity.VerifyRecord{At: night, ReadData: true, Result: "damaged", Damaged: []string{"a"}}
	must(t, integrity.SaveRecord(w.Folder, full))
	must(t, integrity.SaveRecord(w.Folder, integrity.VerifyRecord{At: night.AddDate(0, 0, 1), Result: "whole"}))
	for readData, want := range map[bool]string{true: "damaged", false: "whole"} {
		if v, ok, err := integrity.LastRecord(w.Folder, readData); !ok || err != nil || v.Result != want || v.ReadData != readData {
			t.Errorf("read %+v, %v, %v; want %s", v, ok, err, want)
		}
	}
	failed, err := integrity.SaveFailure(w.Folder, true, night.AddDate(0, 0, 2), errors.New("no disk"))
	must(t, err)
	if v, ok, err := integrity.LastRecord(w.Folder, true); !ok || err != nil || !v.At.Equal(night) || v.Result != "damaged" || len(v.Damaged) != 1 ||
		v.Error != "no disk" || !v.FailedAt.Equal(failed.FailedAt) {
		t.Errorf("after a failure: %+v, %v, %v; the earlier result is lost", v, ok, err)
	}
	if v, _, err := integrity.LastRecord(w.Folder, false); err != nil || v.Result != "whole" || v.Error != "" {
		t.Errorf("the failure changed the other record: %+v, %v", v, err)
	}
	must(t, os.WriteFile(filepath.Join(w.Folder.Dir(), "state", "verified.json"), []byte("{"), 0o600))
	if _, ok, err := integrity.LastRecord(w.Folder, true); ok || err == nil {
		t.Errorf("a damaged record is read as %v, %v", ok, err)
	}
}
