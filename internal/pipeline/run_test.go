package pipeline

import (
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// TestRunModes compares every decision that depends on the kind of a run.
func TestRunModes(t *testing.T) {
	const (
		resume    = "the stored responses are kept: run again to resume"
		nextNight = "readers keep the last snapshot, and the next night reads the records of this refresh"
		repeat    = "readers keep the last snapshot: repeat the command"
	)
	type decisions struct {
		UsesNetwork, IsResumable, IsRefresh bool
		KeepsGradeOfList, KeepsGradeOfEvent bool
		StopConsequence                     string
	}
	for name, c := range map[string]struct {
		mode runMode
		want decisions
	}{
		"a night":   {runMode{kind: ledger.Night}, decisions{UsesNetwork: true, IsResumable: true, StopConsequence: resume}},
		"a dry run": {runMode{kind: ledger.Night, dryRun: true}, decisions{UsesNetwork: true, StopConsequence: repeat}},
		"a refresh": {runMode{kind: ledger.Refresh}, decisions{UsesNetwork: true, IsRefresh: true, KeepsGradeOfList: true, StopConsequence: nextNight}},
		"a replay":  {runMode{kind: ledger.Replay}, decisions{StopConsequence: repeat}},
	} {
		got := decisions{
			UsesNetwork: c.mode.usesNetwork(), IsResumable: c.mode.isResumable(), IsRefresh: c.mode.isRefresh(),
			KeepsGradeOfList: c.mode.keepsGrade(stream.All()[0]), KeepsGradeOfEvent: c.mode.keepsGrade(stream.Events()[0]),
			StopConsequence: c.mode.stopConsequence(),
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// newRun begins a run in an empty warehouse.
func newRun(t *testing.T, cfg Config, mode runMode, now time.Time) *locked {
	t.Helper()
	cfg.Warehouse = warehouse.Config{Dir: t.TempDir(), KeepVersions: 3, MemoryLimit: "256MB", Threads: 1, Program: "test", Tables: stream.Tables(stream.AllWithEvents())}
	cfg.Log, cfg.Streams, cfg.Details = slog.New(slog.DiscardHandler), stream.AllWithEvents(), ChangedDetails
	cfg.NewWarehouse = true
	l, err := begin(cfg, mode, now, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.lock.Release(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestAdoptLastRun checks the maximum age to the nanosecond, and the other conditions for a resume. The age of a run from
// the future is unknown, because the clock was wrong.
func TestAdoptLastRun(t *testing.T) {
	harness.Slow(t)
	now := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		age          time.Duration
		fresh        bool
		source       string
		hasResponses bool
		isResumed    bool
	}{
		"younger than the maximum": {age: time.Hour, source: "http://a", hasResponses: true, isResumed: true},
		"exactly the maximum age":  {age: 6 * time.Hour, source: "http://a", hasResponses: true, isResumed: true},
		"older than the maximum":   {age: 6*time.Hour + 1, source: "http://a", hasResponses: true},
		"a start in the future":    {age: -time.Hour, source: "http://a", hasResponses: true},
		"a fresh run is requested": {age: time.Hour, fresh: true, source: "http://a", hasResponses: true},
		"a run of another service": {age: time.Hour, source: "http://b", hasResponses: true},
		"no stored responses":      {age: time.Hour, source: "http://a"},
	} {
		cfg := Config{Fresh: c.fresh, ResumeMaxAge: config.Default().Run.ResumeMaxAge, Fetch: fetch.Config{BaseURL: "http://a"}}
		l := newRun(t, cfg, runMode{kind: ledger.Night}, now)
		last := warehouse.UnfinishedRun{Run: "20261119T200000Z", StartedAt: now.Add(-c.age), Source: c.source, Attempt: 2, Rights: "x"}
		if err := l.wh.RunLog.WriteResumableRun(last); err != nil {
			t.Fatal(err)
		}
		if c.hasResponses {
			if err := os.MkdirAll(l.wh.Folder.RawPath(last.Run), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		newID := l.line.ID
		if err := l.adoptLastRun(now); err != nil {
			t.Fatal(err)
		}
		wantID, wantAt := newID, now
		if c.isResumed {
			wantID, wantAt = last.Run, last.StartedAt
		}
		if (l.mode.resumed != nil) != c.isResumed || l.line.ID != wantID || !l.line.StartedAt.Equal(wantAt) || !l.line.SnapshotAt.Equal(wantAt) {
			t.Errorf("%s: resumed %v, with the run %s of %v, want %s of %v", name, l.mode.resumed, l.line.ID, l.line.SnapshotAt, wantID, wantAt)
		}
		var holder *warehouse.LockedError
		if err := l.wh.Folder.CheckUnlocked(); !errors.As(err, &holder) || holder.Run != wantID {
			t.Errorf("%s: the lock is held by %+v, want the run %s", name, holder, wantID)
		}
		wantAttempt, wantRights := 1, ""
		if c.isResumed {
			wantAttempt, wantRights = 3, "x"
		}
		if u := l.describeRun(""); u.Attempt != wantAttempt || u.Rights != wantRights {
			t.Errorf("%s: the unfinished run is %+v, want attempt %d and the rights %q", name, u, wantAttempt, wantRights)
		}
		if u := l.describeRun("y"); u.Rights != "y" || u.Source != "http://a" || u.Run != wantID {
			t.Errorf("%s: the unfinished run is %+v, want the rights y", name, u)
		}
		// No night was published, so a refresh must wait in all cases.
		if err := l.checkRefreshable(now); !errors.Is(err, ErrPostponed) {
			t.Errorf("%s: a refresh before the first night: got %v, want ErrPostponed", name, err)
		}
	}
}

// TestCheckRights resumes runs with other tokens. If the rights of the first token were not
// recorded, the run is resumed.
func TestCheckRights(t *testing.T) {
	harness.Slow(t)
	now := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		mode           runMode
		before, rights string // before is "-" for a new run
		wantErr        bool
		wantRecorded   string
	}{
		"a new run":               {runMode{kind: ledger.Night}, "-", "a", false, "a"},
		"the same rights":         {runMode{kind: ledger.Night}, "a", "a", false, "a"},
		"other rights":            {runMode{kind: ledger.Night}, "a", "b", true, ""},
		"no rights were recorded": {runMode{kind: ledger.Night}, "", "b", false, "b"},
		"a dry run records none":  {runMode{kind: ledger.Night, dryRun: true}, "-", "a", false, ""},
		"a refresh records none":  {runMode{kind: ledger.Refresh}, "-", "a", false, ""},
	} {
		l := newRun(t, Config{Fetch: fetch.Config{BaseURL: "http://a"}}, c.mode, now)
		if c.before != "-" {
			l.mode.resumed = &warehouse.UnfinishedRun{Run: l.line.ID, Attempt: 1, Rights: c.before}
		}
		err := l.checkRights(c.rights)
		if c.wantErr && !errors.Is(err, errRightsChanged) {
			t.Errorf("%s: got error %v, want errRightsChanged", name, err)
		}
		if !c.wantErr && err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
		}
		// A run is resumable only if it has the folder of stored responses.
		if err := os.MkdirAll(l.wh.Folder.RawPath(l.line.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		u, _, err := l.wh.RunLog.ResumableRun()
		if err != nil || u.Rights != c.wantRecorded {
			t.Errorf("%s: the unfinished-run file has the rights %q, want %q: %v", name, u.Rights, c.wantRecorded, err)
		}
	}
}

// TestPrivateColumnsIncludeOtherTables finds the columns of other tables that a privacy rule reaches.
func TestPrivateColumnsIncludeOtherTables(t *testing.T) {
	harness.Slow(t)
	for _, c := range []struct {
		privacy transform.Privacy
		want    []string
	}{
		{transform.Privacy{}, nil},
		{transform.Privacy{Drop: []string{"product_listing_prices.unit_amount"}},
			[]string{"outlet_listing_prices.unit_amount", "product_listing_prices.unit_amount", "product_prices.unit_amount"}},
		{transform.Privacy{Hash: []string{"outlets.city"}}, []string{"outlet_listings.city", "outlets.city", "product_listings.city"}},
		{transform.Privacy{Hash: []string{"article_comments.content"}},
			[]string{"article_comment_events.content", "article_comment_events.content_text", "article_comments.content"}},
	} {
		got, err := PrivateColumns(c.privacy)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("private columns with %v (-want +got):\n%s", c.privacy, diff)
		}
	}
}
