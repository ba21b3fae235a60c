package main

import (
	"bytes"
	"strings"
	"testing"

	"placementsync/internal/warehouse"
)

func TestRunsTellsNightsFromRefreshes(t *testing.T) {
	var out bytes.Buffer
	err := runsTable(&out, []warehouse.Run{{ID: "of old"}, {ID: "by schedule", Kind: warehouse.Night}, {ID: "after events", Kind: warehouse.Refresh}}, "by schedule")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of old        night ", "by schedule   night    see this ", "after events  refresh "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
}
