package main

import (
	"strings"
	"testing"

	"placementsync/internal/ledger"
)

func TestRunsListsKinds(t *testing.T) {
	out := ledgerTable([]ledger.Run{{ID: "no kind"}, {ID: "by schedule", Kind: ledger.Night}, {ID: "after events", Kind: ledger.Refresh}}, "by schedule").render(0)
	for _, want := range []string{"no kind       night ", "by schedule   night    see this ", "after events  refresh "} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not contain %q:\n%s", want, out)
		}
	}
}
