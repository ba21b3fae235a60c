package trials_test

import (
	"net/http"
	"testing"

	testharness "placementsync/internal/testing/harness"
)

// TestOneOfTenConcurrentRunsStarts starts ten runs of one warehouse at the same time. One run must
// succeed. The others must fail because the warehouse is locked.
func TestOneOfTenConcurrentRunsStarts(t *testing.T) {
	t.Parallel()
	const processes = 10
	h := newHarness(t, smallWorld(), fewStreams()...)
	proceed := make(chan struct{})
	h.onRequest(func(*http.Request) { <-proceed })
	h.service.Advance(1)
	startTime := h.service.Now()
	exits := make(chan *child, processes)
	var children []*child
	for range processes {
		p := job{URL: h.server.URL, Dir: h.cfg.Warehouse.Dir, Streams: fewStreams(), At: startTime, WaitForInput: true}.start(t)
		children = append(children, p)
		go func() {
			<-p.exited
			exits <- p
		}()
	}
	for _, p := range children {
		select {
		case <-p.output.ready:
		case <-p.exited:
			t.Errorf("process %d ended at once:\n%s", p.cmd.Process.Pid, p.output)
		}
	}
	for _, p := range children {
		testharness.Must(t, p.input.Close())
	}
	refused := map[*child]bool{}
	for range processes - 1 {
		refused[<-exits] = true
	}
	close(proceed)
	requireOnlyWorkerPublished(h, children, refused)
}

// requireOnlyWorkerPublished checks that the worker, the one process that was not refused, has
// published its run. The other processes must fail with a LockedError. The error names the worker, or no process
// if the lock file was read before the worker had written it.
func requireOnlyWorkerPublished(h *harness, children []*child, refused map[*child]bool) {
	h.t.Helper()
	var worker *child
	for _, p := range children {
		if !refused[p] {
			worker = p
		}
	}
	var workerEnd nightEnd
	worker.readReport(h.t, &workerEnd)
	if workerEnd.ExitCode != 0 || h.latestRun() != workerEnd.Run {
		h.t.Errorf("the run %s with the lock ended with exit code %d and latest is %s, want 0 and the run as latest: %s", workerEnd.Run, workerEnd.ExitCode, h.latestRun(), workerEnd.Error)
	}
	for p := range refused {
		var end nightEnd
		p.readReport(h.t, &end)
		if end.ExitCode != 4 || end.Locked == nil || end.Locked.PID != 0 && end.Locked.PID != worker.cmd.Process.Pid {
			h.t.Errorf("process %d ended with exit code %d and %v, want 4 and a LockedError of process %d or of no process: %s",
				p.cmd.Process.Pid, end.ExitCode, end.Locked, worker.cmd.Process.Pid, end.Error)
		}
	}
}
