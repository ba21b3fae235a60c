package trials_test

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/integrity"
	"placementsync/internal/pipeline"
)

// TestNightReportsDamage damages a file of an unchanged table after a successful verify. The next
// night must write the file again and report the damage, in the log and in the record of the last
// verify.
func TestNightReportsDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage  func(path string) error
		problem string
	}{
		"a flipped byte": {func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			return os.WriteFile(path, data, 0o600)
		}, "its checksum differs from its manifest"},
		"a lost file": {os.Remove, "it is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, smallWorld(), "tags", "token")
			var log bytes.Buffer
			h.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			first := h.goodNight()
			wh := warehouseOf(t, h.cfg)
			must(t, integrity.SaveRecord(wh.Folder, integrity.VerifyRecord{At: h.at, ReadData: true, Result: integrity.Whole}))
			rowCount := h.count("tags", "true")
			damagedFile := "versions/" + first.Run.ID + "/tags.parquet"
			must(t, c.damage(h.path(damagedFile)))

			second := h.sameDayNight()
			if h.count("tags", "true") != rowCount || h.count("read_parquet('"+h.path("latest", "tags.parquet")+"')", "true") != rowCount {
				t.Errorf("the catalog or the file of the night has another number of rows, want %d in both", rowCount)
			}
			if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "files="+damagedFile) || !strings.Contains(text, c.problem) {
				t.Errorf("the log lacks a warning about %s with %q:\n%s", damagedFile, c.problem, text)
			}
			for _, readData := range []bool{true, false} {
				v, _, err := integrity.LastRecord(wh.Folder, readData)
				must(t, err)
				if v.Result != integrity.Rebuildable || v.NightDamage == nil || v.NightDamage.Run != second.Run.ID || !slices.Equal(v.NightDamage.Files, []string{damagedFile}) || !v.NightDamage.At.Equal(h.at) {
					t.Errorf("the record of the last verify (ReadData %t) is %+v, want the damage of night %s", readData, v, second.Run.ID)
				}
			}
			h.sameDayNight()
			if v, _, err := integrity.LastRecord(wh.Folder, true); err != nil || v.NightDamage.Run != second.Run.ID {
				t.Errorf("after a night without damage the record has %+v (%v), want the damage of night %s as before", v.NightDamage, err, second.Run.ID)
			}
			report, err := pipeline.Verify(t.Context(), h.cfg, true)
			must(t, err)
			if len(report.Damage) == 0 || report.Result() != integrity.Rebuildable {
				t.Errorf("verify found %+v, want rebuildable damage", report.Damage)
			}
		})
	}
}

// TestDamageWithoutAVerifyIsRecorded damages a file of a warehouse that was never verified. The
// next night must record the damage.
func TestDamageWithoutAVerifyIsRecorded(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), "tags", "token")
	first := h.goodNight()
	must(t, os.Remove(h.path("versions", first.Run.ID, "tags.parquet")))
	h.sameDayNight()
	wh := warehouseOf(t, h.cfg)
	if v, ok, err := integrity.LastRecord(wh.Folder, true); err != nil || !ok || !v.At.IsZero() || v.NightDamage == nil || v.Result != integrity.Rebuildable {
		t.Errorf("the record is %+v (%v), want the damage of the night, and no time of a verify", v, err)
	}
}
