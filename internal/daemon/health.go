package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"placementsync/internal/page"
)

// stalledAfter is the longest time between two checks of the schedule in a healthy process.
const stalledAfter = 3 * checkEvery

// serveHealthz reports whether the process works. Supervisors restart an unhealthy process.
func (d *Daemon) serveHealthz(w http.ResponseWriter, _ *http.Request) {
	seen := d.state.read()
	if sinceCheck := seen.At.Sub(seen.CheckedAt); !seen.CheckedAt.IsZero() && !seen.Stopping && sinceCheck > stalledAfter {
		writeText(w, http.StatusServiceUnavailable, fmt.Sprintf("the schedule has not been checked for %s", sinceCheck.Round(time.Second)))
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// serveReadyz reports whether readers find recent data. If not, it returns the reasons, which a
// restart would not remove.
func (d *Daemon) serveReadyz(w http.ResponseWriter, _ *http.Request) {
	if reasons := d.unreadyReasons(d.state.read()); len(reasons) > 0 {
		writeText(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(reasons, "; "))
		return
	}
	writeText(w, http.StatusOK, "ready")
}

// unreadyReasons returns the reasons why the daemon is not ready, or none if it is ready.
func (d *Daemon) unreadyReasons(seen status) []string {
	var reasons []string
	if seen.Stopping {
		reasons = append(reasons, "the process is stopping")
	}
	if seen.LedgerErr != nil {
		// The error contains paths, and probes may be public.
		reasons = append(reasons, "the ledger cannot be read: see the log")
	}
	good, ok := seen.lastPublished()
	if !ok {
		return append(reasons, "no night has succeeded yet")
	}
	limit := 2 * d.settings().Schedule.Interval(good.StartedAt)
	if age := seen.At.Sub(good.EndedAt); age > limit {
		reasons = append(reasons, fmt.Sprintf("the last success %s ended %s ago, more than twice the interval of the schedule (%s)",
			good.ID, page.Duration(age), page.Duration(limit/2)))
	}
	return reasons
}
