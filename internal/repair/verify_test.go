package repair_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestUnsyncedResponsesOfAKilledRunAreNoDamage stores two responses of a run, and loses the body of the second, as a power
// cut can before the bodies are synced. If the run was killed, its last responses were never stored, and the run requests
// them again. If the run ended, they were synced, so they are damaged.
func TestUnsyncedResponsesOfAKilledRunAreNoDamage(t *testing.T) {
	for name, c := range map[string]struct {
		line *ledger.Run // of the run in the ledger
		want []string    // problems
	}{
		"killed":                     {nil, nil},
		"killed, as the ledger says": {&ledger.Run{ID: secondNight, Kind: ledger.Night, Outcome: ledger.Killed}, nil},
		"failed": {&ledger.Run{ID: secondNight, Kind: ledger.Night, Outcome: ledger.Failed, Responses: 2},
			[]string{"1 of 2 stored responses are missing or damaged"}},
		"published": {&ledger.Run{ID: secondNight, Kind: ledger.Night, Outcome: ledger.Complete, SnapshotAt: firstNightAt},
			[]string{"1 of 2 stored responses are missing or damaged"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, warehouse.Config{Dir: t.TempDir()})
			lock, err := w.Lock("test", firstNightAt)
			harness.Must(t, err)
			harness.Must(t, lock.Release())
			landing, err := fetch.OpenResponseStore(w.Folder.RawPath(secondNight), fetch.StoreOptions{})
			harness.Must(t, err)
			for _, body := range []string{`["first"]`, `["second"]`} {
				_, err := landing.Append(fetch.Response{Request: fetch.Request{Stream: "tags", Path: "/tags", Param: body}, Status: 200, Body: []byte(body)}, firstNightAt, 0)
				harness.Must(t, err)
			}
			harness.Must(t, landing.Close())
			bodies := filepath.Join(w.Folder.RawPath(secondNight), "000001.bodies")
			info, err := os.Stat(bodies)
			harness.Must(t, err)
			harness.Must(t, os.Truncate(bodies, info.Size()-3))
			if c.line != nil {
				harness.Must(t, w.RunLog.Record(*c.line))
			}
			cfg := repair.Config{Warehouse: warehouse.Config{Dir: w.Folder.Dir(), KeepVersions: 3, MemoryLimit: "256MB", Threads: 1, Program: "test"},
				Now: func() time.Time { return firstNightAt }, Log: slog.New(slog.DiscardHandler)}
			v, err := repair.Verify(t.Context(), cfg, true)
			harness.Must(t, err)
			var got []string
			for _, d := range v.Damage {
				if d.File == "raw/"+secondNight {
					got = append(got, d.Problem)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("damage of the stored responses (-want +got):\n%s", diff)
			}
		})
	}
}
