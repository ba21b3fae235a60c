package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"placementsync/internal/page"
)

// stalledAfter is how long the schedule may go unchecked: three checks.
const stalledAfter = 3 * checkEvery

// serveHealthz reports whether the process works. If not, a restart helps.
func (d *Daemon) serveHealthz(w http.ResponseWriter, _ *http.Request) {
	seen := d.board.readSnapshot()
	if still := seen.At.Sub(seen.Beat); !seen.Beat.IsZero() && !seen.Stopping && still > stalledAfter {
		writeText(w, http.StatusServiceUnavailable, fmt.Sprintf("the schedule has not been checked for %s", still.Round(time.Second)))
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// serveReadyz reports whether readers find recent data. If not, a restart does not
// help: the reason says what does.
func (d *Daemon) serveReadyz(w http.ResponseWriter, _ *http.Request) {
	if why := d.unreadyReasons(); len(why) > 0 {
		writeText(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(why, "; "))
		return
	}
	writeText(w, http.StatusOK, "ready")
}

// unreadyReasons are the reasons why the daemon is not ready; none: it is.
func (d *Daemon) unreadyReasons() []string {
	seen := d.board.readSnapshot()
	var why []string
	if seen.Stopping {
		why = append(why, "the process is stopping")
	}
	if seen.LedgerErr != nil {
		// The text of the error has paths, and many may read a probe.
		why = append(why, "the ledger cannot be read: see the log")
	}
	good, ok := seen.lastPublished()
	if !ok {
		return append(why, "no night has succeeded yet")
	}
	limit := 2 * d.settings().Schedule.Interval(good.StartedAt)
	if age := seen.At.Sub(good.EndedAt); age > limit {
		why = append(why, fmt.Sprintf("the last success %s ended %s ago, more than twice the interval of the schedule (%s)",
			good.ID, page.Duration(age), page.Duration(limit/2)))
	}
	return why
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// An error means that the client has gone.
	_, _ = fmt.Fprintln(w, text)
}
