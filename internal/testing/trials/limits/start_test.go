package limits_test

import (
	"net/http"
	"testing"

	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestOneOfTenConcurrentRunsStarts starts ten runs of one warehouse at the same time. One run must
// succeed. The others must fail because the warehouse is locked.
func TestOneOfTenConcurrentRunsStarts(t *testing.T) {
	t.Parallel()
	const processes = 10
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	proceed := make(chan struct{})
	h.OnRequest(func(*http.Request) { <-proceed })
	h.Service.Advance(1)
	startTime := h.Service.Now()
	exits := make(chan *trials.Child, processes)
	var children []*trials.Child
	for range processes {
		p := trials.Job{URL: h.Server.URL, Dir: h.Config.Warehouse.Dir, Streams: trials.FewStreams(), At: startTime, WaitForInput: true}.Start(t)
		children = append(children, p)
		go func() {
			<-p.Exited
			exits <- p
		}()
	}
	for _, p := range children {
		select {
		case <-p.Output.Ready:
		case <-p.Exited:
			t.Errorf("process %d ended at once:\n%s", p.Cmd.Process.Pid, p.Output)
		}
	}
	for _, p := range children {
		testharness.Must(t, p.Input.Close())
	}
	refused := map[*trials.Child]bool{}
	for range processes - 1 {
		refused[<-exits] = true
	}
	close(proceed)
	requireOnlyWorkerPublished(h, children, refused)
}

// requireOnlyWorkerPublished checks that the worker, the one process that was not refused, has
// published its run. The other processes must fail with a LockedError. The error names the worker, or no process
// if the lock file was read before the worker had written it.
func requireOnlyWorkerPublished(h *trials.Harness, children []*trials.Child, refused map[*trials.Child]bool) {
	h.T.Helper()
	var worker *trials.Child
	for _, p := range children {
		if !refused[p] {
			worker = p
		}
	}
	var workerEnd trials.NightEnd
	worker.ReadReport(h.T, &workerEnd)
	if workerEnd.ExitCode != 0 || h.LatestRun() != workerEnd.Run {
		h.T.Errorf("the run %s with the lock ended with exit code %d and latest is %s, want 0 and the run as latest: %s",
			workerEnd.Run, workerEnd.ExitCode, h.LatestRun(), workerEnd.Error)
	}
	for p := range refused {
		var end trials.NightEnd
		p.ReadReport(h.T, &end)
		if end.ExitCode != 4 || end.Locked == nil || end.Locked.PID != 0 && end.Locked.PID != worker.Cmd.Process.Pid {
			h.T.Errorf("process %d ended with exit code %d and %v, want 4 and a LockedError of process %d or of no process: %s",
				p.Cmd.Process.Pid, end.ExitCode, end.Locked, worker.Cmd.Process.Pid, end.Error)
		}
	}
}
