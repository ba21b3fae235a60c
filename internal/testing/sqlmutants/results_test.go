package sqlmutants_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/sqlmutants"
)

// TestResultsAndReasons stores results, reads a reason for one of two survivors and a reason for a
// line that has changed, and compares the stale reasons and the tables.
func TestResultsAndReasons(t *testing.T) {
	const sql = "SELECT a\nFROM t WHERE  a < 1 AND b"
	mutants := sqlmutants.Find(sql)
	docs := t.TempDir()
	exists := func(name string) bool { return name != "q/gone.sql" }
	for _, f := range []sqlmutants.FileResult{
		{Name: "q/gone.sql", Mutants: 1},
		{Name: "q/b.sql", Mutants: 1},
		{Name: "q/a.sql", Mutants: 9, Date: "2026-11-01"},
		{Name: "q/a.sql", Mutants: 4, Survivors: []sqlmutants.Survivor{mutants[0].Survivor(sql), mutants[1].Survivor(sql)}, Date: "2026-11-02"},
	} {
		must(t, sqlmutants.StoreResult(docs, f, exists))
	}
	files, err := sqlmutants.ReadResults(docs)
	must(t, err)
	reasons, err := sqlmutants.ParseReasons("q/a.sql\n- FROM t WHERE a < 1 AND b\n+ FROM t WHERE a <= 1 AND b\nNo a is 1.\n\n" +
		"q/a.sql\n- FROM t WHERE a < 2 AND b\n+ FROM t WHERE true AND b\nThe line has\nchanged.\n")
	must(t, err)
	stale := []sqlmutants.Reason{{File: "q/a.sql", Before: "FROM t WHERE a < 2 AND b", After: "FROM t WHERE true AND b", Text: "The line has changed."}}
	if diff := cmp.Diff(stale, sqlmutants.StaleReasons(reasons, files)); diff != "" {
		t.Errorf("stale reasons (-want +got):\n%s", diff)
	}
	folders, survivors := sqlmutants.Tables(files, reasons)
	if diff := cmp.Diff("| folder | files | mutants | noticed | equivalent | not noticed | date |\n|---|---|---|---|---|---|---|\n"+
		"| q | 2 | 5 | 3 (60.0 %) | 1 | 1 | 2026-11-02 |\n", folders); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("| place | original | mutant | reason |\n|---|---|---|---|\n"+
		"| q/a.sql:2 | `a < 1` | `true` | not explained yet |\n| q/a.sql:2 | `<` | `<=` | No a is 1. |\n", survivors); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	if _, err := sqlmutants.ParseReasons("q/a.sql\n- a\nno mutant"); err == nil {
		t.Error("ParseReasons accepted a reason without a mutant, want an error")
	}
}
