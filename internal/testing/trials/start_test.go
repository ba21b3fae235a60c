package trials_test

import (
	"net/http"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/warehouse"
)

// TestOneOfTenConcurrentRunsStarts starts ten runs of one warehouse at the same time: one
// runs, and nine fail and name it.
func TestOneOfTenConcurrentRunsStarts(t *testing.T) {
	t.Parallel()
	const all = 10
	h := newHouse(t, smallWorld(), few()...)
	proceed := make(chan struct{})
	h.arriving(func(*http.Request) { <-proceed })
	h.service.Advance(1)
	at := h.service.Now()
	ends := make(chan *child, all)
	var starters []*child
	for range all {
		p := job{URL: h.server.URL, Dir: h.cfg.Warehouse.Dir, Streams: few(), At: at, Gate: true}.start(t)
		starters = append(starters, p)
		go func() {
			<-p.exited
			ends <- p
		}()
	}
	for _, p := range starters {
		select {
		case <-p.output.ready:
		case <-p.exited:
			t.Errorf("process %d ended at once:\n%s", p.cmd.Process.Pid, p.output)
		}
	}
	for _, p := range starters {
		must(t, p.input.Close())
	}
	refused := map[*child]bool{}
	for range all - 1 {
		refused[<-ends] = true
	}
	close(proceed)
	h.requireOneAtWork(starters, refused)
}

// requireOneAtWork checks that the failed processes name the one that ran.
func (h *house) requireOneAtWork(starters []*child, refused map[*child]bool) {
	h.t.Helper()
	var worker *child
	for _, p := range starters {
		if !refused[p] {
			worker = p
		}
	}
	var done nightEnd
	worker.read(h.t, &done)
	if done.Code != 0 || h.latest() != done.Run {
		h.t.Errorf("the run that worked ended with %d: %s", done.Code, done.Error)
	}
	want := &warehouse.LockedError{PID: worker.cmd.Process.Pid, Run: done.Run, Since: h.service.Now().UTC()}
	for p := range refused {
		var end nightEnd
		p.read(h.t, &end)
		if end.Code != 4 || !gocmp.Equal(end.Held, want) {
			h.t.Errorf("process %d ended with %d: %s; want 4 and %v", p.cmd.Process.Pid, end.Code, end.Error, want)
		}
	}
}
