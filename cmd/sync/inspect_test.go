package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// TestAnInspectionIsWhatTheWarehouseHas compares what the metrics are made of with what
// queries and the command answer, and then takes away one part after the other.
func TestAnInspectionIsWhatTheWarehouseHas(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	d := newDrill(t)
	wh, cfg, err := d.g.openWarehouse()
	fatal(t, err)
	s := &service{g: d.g, first: cfg, log: d.g.newLogger()}
	s.hooks, err = s.newHooks(wh)
	fatal(t, err)
	fatal(t, os.WriteFile(filepath.Join(wh.Folder.InboxPath(), "1.log"), make([]byte, 12_345), 0o600))
	inspect, err := s.newInspector(cfg)
	fatal(t, err)
	found := inspect(t.Context())
	if len(found.Errors) > 0 || found.InboxBytes != 12_345 || found.Free <= 0 || found.Needed <= 0 || len(found.Verified) > 0 || len(found.Watches) > 0 {
		t.Errorf("found %+v", found)
	}
	if len(found.Tables) < 20 {
		t.Errorf("only %d tables are counted", len(found.Tables))
	}
	for _, table := range found.Tables {
		text := mustRun(t, "query", "--config", d.g.Config, "--quiet", "--format", "csv", "SELECT count(*) FROM "+table.Table)
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		fatal(t, err)
		if want := rows[1][0]; strconv.FormatInt(table.Rows, 10) != want {
			t.Errorf("%s has %d rows in the metrics and %s in a query", table.Table, table.Rows, want)
		}
	}
	// What verify finds by hand is found by the next look.
	mustRun(t, "verify", "--config", d.g.Config)
	mustRun(t, "verify", "--config", d.g.Config, "--read-data")
	if found = inspect(t.Context()); len(found.Verified) != 2 || found.Verified[0].Full || !found.Verified[1].Full ||
		found.Verified[0].Result != daemon.Whole || found.Verified[1].Result != daemon.Whole {
		t.Errorf("verified %+v", found.Verified)
	}

	state := filepath.Join(wh.Folder.Dir(), "state")
	for _, loss := range []struct {
		do   func() error
		lost string
	}{
		{func() error { return os.WriteFile(filepath.Join(state, "verified.json"), []byte("{"), 0o600) }, daemon.ReadVerified},
		{func() error { return os.Remove(filepath.Join(wh.Folder.Dir(), "latest")) }, daemon.ReadVersion},
		{func() error { return os.RemoveAll(wh.Folder.InboxPath()) }, daemon.ReadInbox},
	} {
		fatal(t, loss.do())
		if found = inspect(t.Context()); found.Errors[loss.lost] == nil {
			t.Errorf("the loss of %s is not noticed: %+v", loss.lost, found)
		}
	}
	fatal(t, os.Rename(wh.Folder.Dir(), wh.Folder.Dir()+".away"))
	fatal(t, os.Mkdir(wh.Folder.Dir(), 0o700)) // what is there without its disk
	found = inspect(t.Context())
	for _, name := range []string{daemon.ReadVersion, daemon.ReadFree, daemon.ReadUsage, daemon.ReadInbox, daemon.ReadVerified, daemon.ReadWatches} {
		if found.Errors[name] == nil {
			t.Errorf("%s is read from a disk that is gone: %+v", name, found)
		}
	}
	if entries, err := readEntries(wh)(); err == nil {
		t.Errorf("the ledger has %d entries on a disk that is gone", len(entries))
	}
	checkNothingIsMade(t, d.g, wh)
}

// checkNothingIsMade lets a slot and a verification come while the disk of a warehouse is
// gone.
func checkNothingIsMade(t *testing.T, g *globals, wh *warehouse.Warehouse) {
	t.Helper()
	cfg, err := g.loadConfig()
	fatal(t, err)
	s := &service{g: g, first: cfg, log: g.newLogger()}
	fatal(t, os.Rename(wh.Folder.Dir(), wh.Folder.Dir()+".empty"))
	fatal(t, os.Rename(wh.Folder.Dir()+".away", wh.Folder.Dir()))
	s.hooks, err = s.newHooks(wh)
	fatal(t, err)
	set, err := s.newSettings(cfg)
	fatal(t, err)
	fatal(t, os.Rename(wh.Folder.Dir(), wh.Folder.Dir()+".away"))
	fatal(t, os.Rename(wh.Folder.Dir()+".empty", wh.Folder.Dir()))
	if r, err := set.Night(t.Context()); err == nil || !strings.Contains(err.Error(), "is its disk mounted") || r.Outcome != ledger.Failed {
		t.Errorf("the night on a disk that is gone ended with %v: %+v", err, r)
	}
	if v := set.Verify(t.Context()); v.Result != string(ledger.Failed) {
		t.Errorf("verified a disk that is gone: %+v", v)
	}
	if _, unknown := pastRuns(command.WarehouseConfig(cfg, version)); unknown == nil {
		t.Error("the snapshot of a warehouse that is gone is known")
	}
	if made, err := os.ReadDir(wh.Folder.Dir()); err != nil || len(made) > 0 {
		t.Errorf("made in the place of a disk that is gone: %v, %v", made, err)
	}
}

// TestDamageThatANightMetReachesTheDaemon as it is recorded.
func TestDamageThatANightMetReachesTheDaemon(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	v := shownVerified(warehouse.Verified{Result: warehouse.Rebuildable, Met: &warehouse.MetDamage{Run: "b", At: at, Files: []string{"x"}}})
	if v.Result != "rebuildable" || v.MetBy != "b" || !v.MetAt.Equal(at) || !slices.Equal(v.Met, []string{"x"}) {
		t.Errorf("the daemon shows %+v", v)
	}
}

// TestAHeldVerifyHidesNoDamage finds damage, then another run at work, then fails.
func TestAHeldVerifyHidesNoDamage(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	d := newDrill(t)
	cfg, err := d.g.loadConfig()
	fatal(t, err)
	wh, _, err := d.g.openWarehouse()
	fatal(t, err)
	s := &service{g: d.g, first: cfg, log: d.g.newLogger()}
	s.hooks, err = s.newHooks(wh)
	fatal(t, err)
	set, err := s.newSettings(cfg)
	fatal(t, err)
	fatal(t, saveVerified(command.WarehouseConfig(cfg, version), warehouse.Verified{At: d.g.now(), ReadData: true, Result: "damaged", Damaged: []string{"a"}}))
	lock, err := wh.LockExisting("other", d.g.now())
	fatal(t, err)
	if v := set.Verify(t.Context()); v.Result != string(ledger.Held) {
		t.Errorf("beside another run it ended as %+v", v)
	}
	fatal(t, lock.Release())
	v := s.recordFailure(t.Context(), cfg, command.WarehouseConfig(cfg, version), warehouse.Verified{At: d.g.now(), ReadData: true}, os.ErrPermission)
	if v.Result != string(ledger.Failed) || v.Found != "damaged" || len(v.Damaged) != 1 {
		t.Errorf("a failure hides damage: %+v", v)
	}
	if v, _, err := wh.Checker.LastVerified(false); err != nil || v.Result != "damaged" || v.Error != "" {
		t.Errorf("the record of names and sizes is %+v, %v", v, err)
	}
}
