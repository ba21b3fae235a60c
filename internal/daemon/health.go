package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// stillAfter is how long the schedule may go without being looked at: three
// glances.
const stillAfter = 3 * glance

// healthz says whether the process does its work. Restarting helps when not.
func (d *Daemon) healthz(w http.ResponseWriter, _ *http.Request) {
	seen := d.board.read()
	if still := seen.At.Sub(seen.Beat); !seen.Beat.IsZero() && !seen.Stopping && still > stillAfter {
		answer(w, http.StatusServiceUnavailable, fmt.Sprintf("the schedule has not been looked at for %s", still.Round(time.Second)))
		return
	}
	answer(w, http.StatusOK, "ok")
}

// readyz says whether readers find what they expect. Restarting does not help when
// not: the reason names what does.
func (d *Daemon) readyz(w http.ResponseWriter, _ *http.Request) {
	if why := d.unready(); len(why) > 0 {
		answer(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(why, "; "))
		return
	}
	answer(w, http.StatusOK, "ready")
}

// unready gives the reasons why the daemon is not ready; none: it is.
func (d *Daemon) unready() []string {
	seen := d.board.read()
	var why []string
	if seen.Stopping {
		why = append(why, "it is stopping")
	}
	if seen.LedgerErr != nil {
		// Its text names paths, and a probe is open to many.
		why = append(why, "the ledger cannot be read: see the log")
	}
	good, ok := seen.published()
	if !ok {
		return append(why, "no night has succeeded yet")
	}
	limit := 2 * d.settings().Schedule.Interval(good.Started)
	if age := seen.At.Sub(good.Ended); age > limit {
		why = append(why, fmt.Sprintf("the last success %s ended %s ago, more than twice the interval of the schedule (%s)",
			good.Run, span(age), span(limit/2)))
	}
	return why
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// An error means that the asker has left.
	_, _ = fmt.Fprintln(w, text)
}
