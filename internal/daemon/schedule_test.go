package daemon_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/daemon"
	fixtures "placementsync/internal/testing/harness"
)

// listSlots lists the slots in the interval (from, until], with their UTC offsets.
func listSlots(t *testing.T, text, zone, from, until string) []string {
	t.Helper()
	s := parseSchedule(t, text, zone)
	var got []string
	for at := s.Next(parseTime(t, from)); !at.After(parseTime(t, until)); at = s.Next(at) {
		got = append(got, at.Format("01-02 15:04 -0700"))
	}
	return got
}

func parseSchedule(t *testing.T, text, zone string) daemon.Schedule {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	fixtures.Must(t, err)
	s, err := daemon.NewSchedule(text, loc)
	fixtures.Must(t, err)
	return s
}

func parseTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	fixtures.Must(t, err)
	return at
}

func TestSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, zone, from, until string
		want                          []string
	}{
		{"every night", "0 2 * * *", "UTC", "2026-11-01T02:00:00Z", "2026-11-03T12:00:00Z",
			[]string{"11-02 02:00 +0000", "11-03 02:00 +0000"}},
		{"a slot in a skipped hour runs once, at the change", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
			[]string{"03-29 03:00 +0200", "03-30 02:30 +0200"}},
		{"several slots in a skipped hour run once", "*/20 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-30T00:10:00Z",
			[]string{"03-29 03:00 +0200", "03-30 02:00 +0200"}},
		{"a slot at the end of a skipped hour is not doubled", "0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-30T00:10:00Z",
			[]string{"03-29 03:00 +0200", "03-30 02:00 +0200"}},
		{"a slot in a repeated hour runs once, the first time", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z",
			[]string{"10-25 02:30 +0200", "10-26 02:30 +0100"}},
		{"an hourly slot in a repeated hour runs once", "0 * * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T02:30:00Z",
			[]string{"10-25 02:00 +0200", "10-25 03:00 +0100"}},
		{"start in the second pass of a repeated hour", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-26T12:00:00Z",
			[]string{"10-26 02:30 +0100"}},
		{"a skipped hour west of Greenwich", "15 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z",
			[]string{"03-08 03:00 -0400", "03-09 02:15 -0400"}},
		{"a repeated hour west of Greenwich", "15 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z",
			[]string{"11-01 01:15 -0400", "11-02 01:15 -0500"}},
		{"a skipped half hour", "10 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z",
			[]string{"10-04 02:30 +1100", "10-05 02:10 +1100"}},
		{"a repeated half hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z",
			[]string{"04-05 01:45 +1100", "04-06 01:45 +1030"}},
		{"midnight is skipped", "0 0 * * *", "Africa/Cairo", "2026-04-22T22:00:00Z", "2026-04-25T00:00:00Z",
			[]string{"04-24 01:00 +0300", "04-25 00:00 +0300"}},
		{"a constant delay ignores the wall clock", "@every 2h", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T04:00:00Z",
			[]string{"10-25 02:00 +0200", "10-25 03:00 +0100", "10-25 05:00 +0100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, listSlots(t, c.text, c.zone, c.from, c.until)); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, at string
		want     time.Duration
	}{
		{"0 2 * * *", "2026-11-04T02:10:00Z", 24 * time.Hour},
		{"0 2 * * 1-5", "2026-11-06T02:00:00Z", 72 * time.Hour}, // from Friday to Monday
		{"@every 6h", "2026-11-04T02:10:00Z", 6 * time.Hour},
	} {
		if got := parseSchedule(t, c.text, "UTC").Interval(parseTime(t, c.at)); got != c.want {
			t.Errorf("the interval of %s at %s is %s, want %s", c.text, c.at, got, c.want)
		}
	}
}

func TestInvalidSchedule(t *testing.T) {
	t.Parallel()
	if s, err := daemon.NewSchedule("0 2 * *", time.UTC); err == nil {
		t.Errorf("got %s for a schedule with four fields, want an error", s)
	}
}
