package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"placementsync/internal/html"
)

// stalledAfter is the longest time between two calls of startDueJobs in a healthy process.
const stalledAfter = 3 * maxSleep

// Supervisors restart an unhealthy process.
func (d *Daemon) serveHealthz(w http.ResponseWriter, _ *http.Request) {
	st := d.state.read()
	if idle := st.At.Sub(st.ActiveAt); !st.ActiveAt.IsZero() && !st.Stopping && idle > stalledAfter {
		writeText(w, http.StatusServiceUnavailable, fmt.Sprintf("the scheduler has not run for %s", idle.Round(time.Second)))
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// serveReadyz reports whether readers find recent data. If not, a restart would not help.
func (d *Daemon) serveReadyz(w http.ResponseWriter, _ *http.Request) {
	if reasons := d.unreadyReasons(d.state.read()); len(reasons) > 0 {
		writeText(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(reasons, "; "))
		return
	}
	writeText(w, http.StatusOK, "ready")
}

func (d *Daemon) unreadyReasons(st status) []string {
	var reasons []string
	if st.Stopping {
		reasons = append(reasons, "the process is stopping")
	}
	if st.LedgerErr != nil {
		// The error contains paths, and probes may be public.
		reasons = append(reasons, "the ledger cannot be read: see the log")
	}
	night, ok := st.lastSuccess()
	if !ok {
		return append(reasons, "no night has succeeded yet")
	}
	limit := 2 * d.settings().Schedule.Interval(night.StartedAt)
	if age := st.At.Sub(night.EndedAt); age > limit {
		reasons = append(reasons, fmt.Sprintf("the last successful night, %s, ended %s ago, more than twice the interval of the schedule (%s)",
			night.ID, html.Duration(age), html.Duration(limit/2)))
	}
	return reasons
}
