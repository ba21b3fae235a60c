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
