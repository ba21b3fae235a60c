package main

import (
	"bytes"
	"strings"
	"testing"

	"placementsync/internal/ledger"
)

func TestRunsTellsNightsFromRefreshes(t *testing.T) {
	var out bytes.Buffer
	err := runsTable(&out, []ledger.Run{{ID: "of old"}, {ID: "by schedule", Kind: ledger.Night}, {ID: "after events", Kind: ledger.Refresh}}, "by schedule")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of old        night ", "by schedule   night    see this ", "after events  refresh "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
}
