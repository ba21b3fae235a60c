package repair_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
)

// TestUnfinishedLastLineOfTheLedgerIsNotDamage damages lines of the ledger. The check must ignore an
// unfinished last line, because a crash can leave such a line. It must report all other damage.
func TestUnfinishedLastLineOfTheLedgerIsNotDamage(t *testing.T) {
	w := open(t)
	publishNights(t, w, "one")
	path := filepath.Join(w.Folder.Dir(), "state", "runs.jsonl")
	data, err := os.ReadFile(path)
	harness.Must(t, err)
	line := string(data)
	damaged := strings.Replace(line, `"complete"`, `"complete!"`, 1)
	unfinished := line[:len(line)/2]
	for name, c := range map[string]struct {
		text, problem string
	}{
		"intact":                                  {line, ""},
		"intact, without the line break":          {strings.TrimSuffix(line, "\n"), ""},
		"intact, unfinished":                      {line + unfinished, ""},
		"intact, unfinished with a line break":    {line + unfinished + "\n", "damaged lines: 1"},
		"intact, damaged":                         {line + damaged, "damaged lines: 1"},
		"damaged, intact":                         {damaged + line, "damaged lines: 1"},
		"damaged, intact, unfinished":             {damaged + line + unfinished, "damaged lines: 1"},
		"intact, damaged, unfinished":             {line + damaged + unfinished, "damaged lines: 1"},
		"damaged, intact, damaged":                {damaged + line + damaged, "damaged lines: 2"},
		"unfinished":                              {unfinished, "it has no line of the version that readers see"},
		"damaged, intact, without the line break": {damaged + strings.TrimSuffix(line, "\n"), "damaged lines: 1"},
	} {
		harness.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
		report, err := repair.Check(t.Context(), w, false)
		harness.Must(t, err)
		var got string
		for _, d := range report.Damage {
			got += d.Problem
		}
		if got != c.problem {
			t.Errorf("ledger lines %s: the check reports %q, want %q", name, got, c.problem)
		}
	}
}

// TestCheckReportsAnUnfinishedRollback runs a rollback that fails before it switches the link "latest". The
// first check must report the unfinished rollback. Then Lock tries to finish the rollback. This attempt
// fails at a file of the series. The second check must report damage too.
func TestCheckReportsAnUnfinishedRollback(t *testing.T) {
	w := open(t)
	publishNights(t, w, "one", "two")
	if _, err := openFailingAt(t, w, "before link latest").Rollback(firstNight, firstNightAt.AddDate(0, 1, 0)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("the rollback returned %v, want EIO", err)
	}
	report, err := repair.Check(t.Context(), w, false)
	if err != nil || len(report.Damage) != 1 || report.Damage[0].File != "state/aside.json" || !strings.Contains(report.Damage[0].Problem, "rollback to "+firstNight) {
		t.Errorf("got the damage %+v (%v), want only the unfinished rollback", report.Damage, err)
	}
	failing := openFailingAt(t, w, "before rename product_listing_tags.parquet")
	lock, err := failing.Lock("prune", firstNightAt)
	harness.Must(t, err)
	// This process has the lock for a repair. With another holder, the rollback may be running.
	for _, isOther := range []bool{false, true} {
		if isOther {
			harness.Must(t, os.WriteFile(filepath.Join(w.Folder.Dir(), "state", "lock"), []byte(`{"pid": 1, "run": "rollback"}`), 0o600))
		}
		report, err = repair.Check(t.Context(), w, false)
		isReported := slices.ContainsFunc(report.Damage, func(d repair.Damage) bool { return d.File == "state/aside.json" })
		if err != nil || isReported == isOther {
			t.Errorf("while another process has the lock %t: the killed rollback is reported %t (%v), want %t", isOther, isReported, err, !isOther)
		}
	}
	harness.Must(t, lock.Release())
	if report, err = repair.Check(t.Context(), w, false); err != nil || len(report.Damage) == 0 {
		t.Errorf("after the failed attempt to finish the rollback: got the damage %+v (%v), want at least one", report.Damage, err)
	}
}
