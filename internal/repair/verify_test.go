package repair_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// TestResultOfAReport compares the results of reports. Lost data outweighs damage that a command repairs.
func TestResultOfAReport(t *testing.T) {
	repairable, lost := repair.Damage{File: "a"}, repair.Damage{File: "b", Lost: true}
	for want, damage := range map[string][]repair.Damage{
		repair.Whole: nil, repair.Rebuildable: {repairable, repairable}, repair.DataLost: {repairable, lost, repairable},
	} {
		r := repair.Report{Damage: damage, ReadData: true, Took: 1500 * time.Millisecond}
		record := r.Record(firstNightAt.In(time.FixedZone("", 3600)))
		if r.Result() != want || record.Result != want || len(record.DamagedFiles) != len(damage) {
			t.Errorf("the result of %+v is %q with the record %+v, want %q and each damaged file", damage, r.Result(), record, want)
		}
		if record.At != firstNightAt || !record.ReadData || record.Seconds != 1.5 {
			t.Errorf("the record is %+v, want the time in UTC, the depth and 1.5 seconds", record)
		}
	}
}

// TestVerifyNamesLostResponsesAndEvents removes the journal of stored responses, and damages an event. A run that stored
// nothing is no damage. Without the option to read data, only the missing journal is found.
func TestVerifyNamesLostResponsesAndEvents(t *testing.T) {
	w := open(t)
	storeResponses(t, w, firstNight)
	harness.Must(t, os.Remove(filepath.Join(w.Folder.RawPath(firstNight), "journal.jsonl")))
	harness.Must(t, os.MkdirAll(w.Folder.RawPath(secondNight), 0o700))
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: firstNight, Kind: ledger.Night, Outcome: ledger.Failed, Responses: 2}))
	event := filepath.Join(w.Folder.InboxPath(), "20261101T020000.000000000Z-0.log")
	harness.Must(t, os.MkdirAll(w.Folder.InboxPath(), 0o700))
	harness.Must(t, os.WriteFile(event, []byte("{}\n"), 0o600))
	cfg := repair.Config{Warehouse: configOf(warehouse.Config{Dir: w.Folder.Dir()}), Now: func() time.Time { return firstNightAt },
		Log: slog.New(slog.DiscardHandler)}
	raw, inbox := "raw/"+firstNight+": , lost", w.Folder.Relative(w.Folder.InboxPath())+": run, lost"
	for readData, want := range map[bool][]string{false: {raw}, true: {inbox, raw}} {
		report, err := repair.Verify(t.Context(), cfg, readData)
		harness.Must(t, err)
		slices.Sort(want)
		if got := describeDamage(report.Damage); !slices.Equal(got, want) || report.ReadData != readData {
			t.Errorf("readData %t: the damage is %q, want %q", readData, got, want)
		}
	}
}
