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

// TestOnlyAnUnfinishedLastLineOfTheLedgerIsIntact damages lines of the ledger. A crash explains an
// unfinished last line, and no other damage.
func TestOnlyAnUnfinishedLastLineOfTheLedgerIsIntact(t *testing.T) {
	w := open(t)
	publishNights(t, w, "one")
	path := filepath.Join(w.Folder.Dir(), "state", "runs.jsonl")
	whole, err := os.ReadFile(path)
	must(t, err)
	line := string(whole)
	flipped := strings.Replace(line, `"complete"`, `"complete!"`, 1)
	torn := line[:len(line)/2]
	for name, c := range map[string]struct {
		text, problem string
	}{
		"intact":                             {line, ""},
		"unfinished last line":               {line + torn, ""},
		"unfinished, with a line break":      {line + torn + "\n", "damaged lines: 1"},
		"a damaged last line":                {line + flipped, "damaged lines: 1"},
		"a damaged line within":              {flipped + line, "damaged lines: 1"},
		"a damaged and an unfinished line":   {flipped + line + torn, "damaged lines: 1"},
		"damaged before unfinished":          {line + flipped + torn, "damaged lines: 1"},
		"two damaged lines":                  {flipped + line + flipped, "damaged lines: 2"},
		"only an unfinished line":            {torn, "it has no line of the version that readers see"},
		"a line without its line break":      {strings.TrimSuffix(line, "\n"), ""},
		"two, the last without a line break": {flipped + strings.TrimSuffix(line, "\n"), "damaged lines: 1"},
	} {
		must(t, os.WriteFile(path, []byte(c.text), 0o600))
		found, err := integrity.Check(t.Context(), w, false)
		must(t, err)
		var got string
		for _, d := range found.Damage {
			got += d.Problem
		}
		if got != c.problem {
			t.Errorf("%s: the check reports %q, want %q", name, got, c.problem)
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
		t.Errorf("with a disk that refuses files of the series: got %+v (%v), want damage", found.Damage, err)
	}
}
