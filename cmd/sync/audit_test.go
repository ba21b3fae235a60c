package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// TestResultsOfAnAuditAreShown shows checks with each outcome. Two of them have failed, one with an escape
// sequence.
func TestResultsOfAnAuditAreShown(t *testing.T) {
	t.Parallel()
	results := []ledger.CheckResult{
		{Name: "prices_scaled", Title: "Scaled prices", Severity: "hold", Outcome: "passed", Seconds: 0.126},
		{Name: "few_orders", Title: "Few orders", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 2, Seconds: 1,
			Sample: json.RawMessage(`[{"id":"a\u001b[2J","status":"paid"},{"id":"b","status":null}]`)},
		{Name: "broken", Title: "Broken", Severity: "warn", Outcome: ledger.CheckNotRun, Reason: "no such column"},
		{Name: "names", Title: "Names", Severity: "warn", Outcome: ledger.CheckFailed, Rows: 1,
			Sample: json.RawMessage(`[{"id":"c"}]`)},
	}
	var text strings.Builder
	harness.Must(t, showCheckResults(&text, results, 0))
	const want = `check          severity  outcome  rows  seconds  why
prices_scaled  hold      passed      0     0.13
few_orders     hold      failed      2     1.00
broken         warn      not run     0     0.00  no such column
names          warn      failed      1     0.00

Few orders (few_orders): 2 rows
  id a\x1b[2J, status paid
  id b

Names (names): 1 row
  id c
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestChecksAreListed lists two checks, and explains them.
func TestChecksAreListed(t *testing.T) {
	t.Parallel()
	checks := []query.Query{{Name: "names", Severity: "warn", Title: "Names", File: "checks/names.sql"},
		{Name: "orders", Severity: "hold", Title: "Few orders"}}
	const list = "check   severity  title       file\nnames   warn      Names       checks/names.sql\norders  hold      Few orders\n"
	const explained = "names (own: checks/names.sql)\n  Names\n\norders\n  Few orders\n"
	var text strings.Builder
	harness.Must(t, listChecks(&text, checks, 0))
	harness.Must(t, explainChecks(&text, checks))
	if diff := cmp.Diff(list+explained, text.String()); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}
