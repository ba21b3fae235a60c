package repair_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		line       *ledger.Run // of the run in the ledger
		hasVersion bool
		want       []string // problems
	}{
		"killed":                     {nil, false, nil},
		"killed, as the ledger says": {&ledger.Run{ID: secondNight, Kind: ledger.Night, Outcome: ledger.Killed}, false, nil},
		"failed, after it stored a response that the journal has lost too": {
			&ledger.Run{ID: secondNight, Kind: ledger.Night, Outcome: ledger.Failed, Responses: 3}, false,
			[]string{"2 of 3 stored responses are missing or damaged"}},
		"published": {&ledger.Run{ID: secondNight, Kind: ledger.Night, Outcome: ledger.Complete, SnapshotAt: firstNightAt}, false,
			[]string{"1 of 2 stored responses are missing or damaged"}},
		"published, without a line in the ledger": {nil, true, []string{"1 of 2 stored responses are missing or damaged"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			storeResponses(t, w, secondNight)
			bodies := filepath.Join(w.Folder.RawPath(secondNight), "000001.bodies")
			info, err := os.Stat(bodies)
			harness.Must(t, err)
			harness.Must(t, os.Truncate(bodies, info.Size()-3))
			if c.line != nil {
				harness.Must(t, w.RunLog.Record(*c.line))
			}
			if c.hasVersion {
				publish(t, w, beginDraft(t, w, secondNight, "one"))
				harness.Must(t, os.Remove(w.RunLog.Path()))
			}
			v, err := repair.Verify(t.Context(), repairConfig(w), true)
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
			if v.Bytes == 0 || v.Took <= 0 {
				t.Errorf("the verify read %d bytes in %v, want the stored response and a duration", v.Bytes, v.Took)
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

// TestVerifyNamesLostResponsesAndEvents removes the journal of stored responses, and damages an event of the inbox and one
// of the run. A run that stored nothing is no damage. Without the option to read data, only the missing journal is found.
func TestVerifyNamesLostResponsesAndEvents(t *testing.T) {
	w := open(t)
	storeResponses(t, w, firstNight)
	harness.Must(t, os.Remove(filepath.Join(w.Folder.RawPath(firstNight), "journal.jsonl")))
	harness.Must(t, os.MkdirAll(w.Folder.RawPath(secondNight), 0o700))
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: firstNight, Kind: ledger.Night, Outcome: ledger.Failed, Responses: 2}))
	event := filepath.Join(w.Folder.InboxPath(), "20261101T020000.000000000Z-0.log")
	harness.Must(t, os.MkdirAll(w.Folder.InboxPath(), 0o700))
	harness.Must(t, os.WriteFile(event, []byte("{}\n"), 0o600))
	read := filepath.Join(w.Folder.EventsPath(firstNight), filepath.Base(event))
	harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(read), 0o700), os.WriteFile(read, []byte("{}\n"), 0o600)))
	raw, inbox := "raw/"+firstNight+": , lost", w.Folder.Relative(w.Folder.InboxPath())+": run, lost"
	for readData, want := range map[bool][]string{false: {raw}, true: {inbox, raw, "raw/" + firstNight + "/webhooks: run, lost"}} {
		ofWarehouse, err := repair.Check(t.Context(), w, readData)
		harness.Must(t, err)
		report, err := repair.Verify(t.Context(), repairConfig(w), readData)
		harness.Must(t, err)
		if files := report.Files - ofWarehouse.Files; files != 1+len(want) {
			t.Errorf("readData %t: %d more files are counted, want the responses of two runs, and the event if it is read", readData, files)
		}
		const readAgain = "; the records that they name are read again within streams.recheck nights"
		texts := map[string]string{ // by file: the problem, and the affected data
			"state/inbox":                     "1 damaged event: webhook events that no night has read yet" + readAgain,
			"raw/" + firstNight + "/webhooks": "1 damaged event: webhook events of run " + firstNight + readAgain,
			"raw/" + firstNight: "the file journal.jsonl is missing: the stored responses of run " + firstNight +
				" and a replay of the run; readers lose nothing; a later prune removes the responses (retention.raw_days)",
		}
		for _, d := range report.Damage {
			if isJournal := d.File == "raw/"+firstNight; d.Problem+": "+d.Affected != texts[d.File] && !(isJournal && readData) {
				t.Errorf("readData %t: %s: %s: %s, want %s", readData, d.File, d.Problem, d.Affected, texts[d.File])
			}
		}
		slices.Sort(want)
		if got := describeDamage(report.Damage); !slices.Equal(got, want) || report.ReadData != readData {
			t.Errorf("readData %t: the damage is %q, want %q", readData, got, want)
		}
	}
	harness.Must(t, errors.Join(os.RemoveAll(w.Folder.InboxPath()), os.WriteFile(w.Folder.InboxPath(), nil, 0o600)))
	report, err := repair.Verify(t.Context(), repairConfig(w), true)
	if got, want := describeDamage(report.Damage), []string{raw, inbox}; err != nil || !slices.Contains(got, inbox) {
		t.Errorf("with an inbox that cannot be read the damage is %q (%v), want %q", got, err, want)
	}
}

// TestFullVerifyKeepsItsOwnResult stores the result of a full verify, and then the result of a verify
// without --read-data. The later result must not replace the result of the full verify, and reading a
// damaged record must be an error.
func TestFullVerifyKeepsItsOwnResult(t *testing.T) {
	t.Parallel()
	w := open(t)
	full := repair.VerifyRecord{At: firstNightAt, ReadData: true, Result: "damaged", DamagedFiles: []string{"a"}}
	harness.Must(t, repair.SaveRecord(w.Folder, full))
	if v, ok, err := repair.LastRecord(w.Folder, false); !ok || err != nil || v.Result != "damaged" || v.ReadData {
		t.Errorf("after a full verify the result of names and sizes is %+v, stored %t (%v), want its result too", v, ok, err)
	}
	harness.Must(t, repair.SaveRecord(w.Folder, repair.VerifyRecord{At: firstNightAt.AddDate(0, 0, 1), Result: "whole"}))
	for readData, want := range map[bool]string{true: "damaged", false: "whole"} {
		if v, ok, err := repair.LastRecord(w.Folder, readData); !ok || err != nil || v.Result != want || v.ReadData != readData {
			t.Errorf("readData %t: got %+v, stored %t (%v), want the result %q", readData, v, ok, err, want)
		}
	}
	failed, err := repair.SaveFailure(w.Folder, true, firstNightAt.AddDate(0, 0, 2), errors.New("no disk"))
	harness.Must(t, err)
	if v, ok, err := repair.LastRecord(w.Folder, true); !ok || err != nil || !v.At.Equal(firstNightAt) || v.Result != "damaged" || len(v.DamagedFiles) != 1 ||
		v.Error != "no disk" || !v.FailedAt.Equal(failed.FailedAt) || !v.ReadData || !failed.ReadData {
		t.Errorf("after a failure: got %+v, stored %t (%v), want the earlier result with the error and the time of the failure", v, ok, err)
	}
	if v, _, err := repair.LastRecord(w.Folder, false); err != nil || v.Result != "whole" || v.Error != "" {
		t.Errorf("the record of names and sizes after the failure: got %+v (%v), want the result \"whole\" without an error", v, err)
	}
	harness.Must(t, os.WriteFile(filepath.Join(w.Folder.Dir(), "state", "verified.json"), []byte("{"), 0o600))
	if _, ok, err := repair.LastRecord(w.Folder, true); ok || err == nil {
		t.Errorf("a damaged record: got stored %t (%v), want false and an error", ok, err)
	}
}

// TestFailureNeedsAWarehouse saves the failure of a verify in an empty folder. The folder must stay empty.
func TestFailureNeedsAWarehouse(t *testing.T) {
	t.Parallel()
	if _, err := repair.SaveFailure(openWith(t, warehouse.Config{Dir: t.TempDir()}).Folder, true, firstNightAt, errors.New("no disk")); !errors.As(err, new(*warehouse.NoWarehouseError)) {
		t.Errorf("SaveFailure without a warehouse: got %v, want a *NoWarehouseError", err)
	}
}

// TestAWarehouseWithoutAccessToItsLockIsVerified makes the lock file unusable, as in a warehouse that this user can only read.
func TestAWarehouseWithoutAccessToItsLockIsVerified(t *testing.T) {
	w := clone(t, threeNights(t))
	damager{t, w}.symlink("runs.jsonl/lock", "state/lock")
	report, err := repair.Verify(t.Context(), repairConfig(w), true)
	if err != nil || len(report.Damage) > 0 || report.Bytes == 0 {
		t.Errorf("verify read %d bytes and found %+v (%v), want an intact warehouse", report.Bytes, report.Damage, err)
	}
}

// TestVerifyWaitsForNoRun verifies a warehouse while a run changes its files.
func TestVerifyWaitsForNoRun(t *testing.T) {
	w := clone(t, threeNights(t))
	lock, err := w.Lock(thirdNight, firstNightAt)
	harness.Must(t, err)
	var locked *warehouse.LockedError
	if _, err := repair.Verify(t.Context(), repairConfig(w), false); !errors.As(err, &locked) || locked.Run != thirdNight {
		t.Errorf("during a run: got %v, want a *LockedError that names the run", err)
	}
	harness.Must(t, lock.Release())
	_, err = repair.Verify(t.Context(), repairConfig(w), false)
	harness.Must(t, err)
	lock, err = w.Lock("verify has released the lock", firstNightAt)
	harness.Must(t, err)
	harness.Must(t, lock.Release())
}
