package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
)

// TestAlertsHaveAdvice checks the advice of causes whose error is too long for an alert.
func TestAlertsHaveAdvice(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"free some space on the disk of /data/wh, or": fmt.Errorf("load: %w", &warehouse.DiskFullError{Dir: "/data/wh", Err: syscall.ENOSPC}),
		"a proxy or a sign-in page answered":          &fetch.StatusError{Code: 200, IsHTML: true},
		"a proxy or a sign-in page answered in":       &fetch.StatusError{Code: 502, IsHTML: true, Body: "its body (9 bytes, HTML or XML) may contain private values and is not shown"},
		"":                                            &fetch.StatusError{Code: 500, Body: `body begins "{}"`},
		"check the disk":                              &warehouse.VerifyError{},
	} {
		a := newAlert(notify.Failed, ledger.Run{ID: "r", Outcome: ledger.Failed}, err, nil, time.Now())
		if !strings.HasPrefix(a.Advice, want) || want == "" && a.Advice != "" {
			t.Errorf("%v: the advice is %q, want %q", errors.Unwrap(err), a.Advice, want)
		}
	}
}

// TestAlertOfANightThatDidNotStart checks the times of a night without a ledger line.
func TestAlertOfANightThatDidNotStart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	a := newAlert(notify.Failed, ledger.Run{}, errors.New("the folder contains no warehouse"), nil, now)
	if a.StartedAt != now || a.EndedAt != now || a.Since != now || a.Streak != 1 || a.ExitCode != 1 {
		t.Errorf("the alert is %+v, want the time %s in all times, one failure and exit code 1", a, now)
	}
}
