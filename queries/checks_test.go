package queries_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/audit"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// TestChecks runs testdata/checks/<check>/*.test, see fixture.ReadCheckTest.
func TestChecks(t *testing.T) {
	empty := fixture.NewEmptyCatalog(t)
	session := empty.Open(t, fixture.TwoNights, query.Options{Before: &query.Before{}})
	all, err := audit.Load("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all.List() {
		tests, err := filepath.Glob(filepath.Join("testdata", "checks", q.Name, "*.test"))
		if err != nil || len(tests) == 0 {
			t.Errorf("check %s has no test in testdata (%v)", q.Name, err)
		}
		for _, path := range tests {
			t.Run(q.Name+"/"+strings.TrimSuffix(filepath.Base(path), ".test"), func(t *testing.T) {
				c := fixture.ReadCheckTest(t, path)
				db := session.DB
				if c.HasBefore {
					before := &query.Before{Catalog: empty.Fill(t, c.Before)}
					db = empty.Open(t, fixture.TwoNights+c.Rows, query.Options{Before: before}).DB
				} else {
					session.Fill(t, c.Rows)
				}
				set, err := audit.Load("", map[string]audit.Rule{q.Name: {Params: c.Params}}, c.Private)
				if err != nil {
					t.Fatal(err)
				}
				prepared, values, skipReason, err := set.Prepare(t.Context(), db, q.Name)
				if err != nil || skipReason != "" {
					t.Fatalf("Prepare: got error %v and skip reason %q, want neither", err, skipReason)
				}
				if diff := cmp.Diff(c.Want, runCSV(t, db, prepared, values)); diff != "" {
					t.Errorf("violating rows (-want +got):\n%s", diff)
				}
			})
		}
	}
}
