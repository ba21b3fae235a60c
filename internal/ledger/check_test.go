package ledger_test

import (
	"slices"
	"testing"

	"placementsync/internal/ledger"
)

func TestSampleLines(t *testing.T) {
	c := ledger.CheckResult{Sample: []byte(`[{"id":"a","price":20.000000,"list":["x",1],"none":null},{"text":"null, or not"},{}]`)}
	want := []string{`id a, price 20.000000, list ["x",1]`, "text null, or not", ""}
	if got := c.SampleLines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Sample = []byte(`[{"id":"a","id":"b"}]`) // a query can return two columns with one name
	if got := c.SampleLines(); !slices.Equal(got, []string{"id a, id b"}) {
		t.Errorf("two columns with one name: got %q, want both", got)
	}
	c.Sample = []byte(`[{"id":"a"},{"id`)
	if got := c.SampleLines(); !slices.Equal(got, []string{"id a"}) {
		t.Errorf("a truncated sample: got %q, want only the first row", got)
	}
}

func TestWhyNamesChecks(t *testing.T) {
	r := ledger.Run{Outcome: ledger.Complete, Checks: []ledger.CheckResult{
		{Name: "a", Outcome: ledger.CheckFailed, Rows: 2}, {Name: "b", Outcome: ledger.CheckNotRun}, {Name: "c", Outcome: ledger.CheckPassed}}}
	if got, want := r.Why(), "check a failed in 2 rows, check b did not run"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
