package integrity_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/integrity"
)

// TestOnlyAnUnfinishedLastLineOfTheLedgerIsIntact damages lines of the ledger. The check must ignore
// an unfinished last line, because a crash can leave one, and must report all other damage.
func TestOnlyAnUnfinishedLastLineOfTheLedgerIsIntact(t *testing.T) {
	w := open(t)
	publishNights(t, w, "one")
	path := filepath.Join(w.Folder.Dir(), "state", "runs.jsonl")
	data, err := os.ReadFile(path)
	must(t, err)
	line := string(data)
	flipped := strings.Replace(line, `"complete"`, `"complete!"`, 1)
	torn := line[:len(line)/2]
	for name, c := range map[string]struct {
		text, problem string
	}{
		"intact":                                  {line, ""},
		"intact, without the line break":          {strings.TrimSuffix(line, "\n"), ""},
		"intact, unfinished":                      {line + torn, ""},
		"intact, unfinished with a line break":    {line + torn + "\n", "damaged lines: 1"},
		"intact, damaged":                         {line + flipped, "damaged lines: 1"},
		"damaged, intact":                         {flipped + line, "damaged lines: 1"},
		"damaged, intact, unfinished":             {flipped + line + torn, "damaged lines: 1"},
		"intact, damaged, unfinished":             {line + flipped + torn, "damaged lines: 1"},
		"damaged, intact, damaged":                {flipped + line + flipped, "damaged lines: 2"},
		"unfinished":                              {torn, "it has no line of the version that readers see"},
		"damaged, intact, without the line break": {flipped + strings.TrimSuffix(line, "\n"), "damaged lines: 1"},
	} {
		must(t, os.WriteFile(path, []byte(c.text), 0o600))
		found, err := integrity.Check(t.Context(), w, false)
		must(t, err)
		var got string
		for _, d := range found.Damage {
			got += d.Problem
		}
		if got != c.problem {
			t.Errorf("a ledger with lines %s: the check reports %q, want %q", name, got, c.problem)
		}
	}
}

// TestCheckReportsAnUnfinishedRollback makes a rollback fail before it switches the link latest.
// The first check must report it. Then Lock tries to finish the rollback and fails at a file of the
// series; the second check must report damage too.
func TestCheckReportsAnUnfinishedRollback(t *testing.T) {
	w := open(t)
	publishNights(t, w, "one", "two")
	if _, err := openFailingAt(t, w, "before link latest").Rollback(firstNight, night.AddDate(0, 1, 0)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("the rollback returned %v, want EIO", err)
	}
	found, err := integrity.Check(t.Context(), w, false)
	if err != nil || len(found.Damage) != 1 || found.Damage[0].File != "state/aside.json" || !strings.Contains(found.Damage[0].Problem, "rollback to "+firstNight) {
		t.Errorf("got %+v (%v), want the unfinished rollback only", found.Damage, err)
	}
	stuck := openFailingAt(t, w, "before rename product_listing_tags.parquet")
	lock, err := stuck.Lock("prune", night)
	must(t, err)
	must(t, lock.Release())
	if found, err = integrity.Check(t.Context(), w, false); err != nil || len(found.Damage) == 0 {
		t.Errorf("after the failed attempt to finish the rollback: got %+v (%v), want damage", found.Damage, err)
	}
}
