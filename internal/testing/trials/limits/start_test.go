package limits_test

import (
	"net/http"
	"testing"

	"placementsync/internal/testing/trials"
)

// TestOneOfTenConcurrentRunsStarts starts ten runs of one warehouse at the same time. The service answers after nine of
// them have ended, because the warehouse is locked. The other run must succeed. An error names the process of this
// run, or no process if the lock file was read before the process had written it.
func TestOneOfTenConcurrentRunsStarts(t *testing.T) {
	t.Parallel()
	const processes = 10
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	proceed := make(chan struct{})
	h.OnRequest(func(*http.Request) { <-proceed })
	h.NextDay()
	exits := make(chan *trials.Child, processes)
	for range processes {
		p := trials.Job{URL: h.Server.URL, Dir: h.Config.Warehouse.Dir, Streams: trials.FewStreams(), At: h.At}.Start(t)
		go func() {
			<-p.Exited
			exits <- p
		}()
	}
	var refused []trials.NightEnd
	for range processes - 1 {
		refused = append(refused, trials.NightEnd{})
		(<-exits).ReadReport(t, &refused[len(refused)-1])
	}
	close(proceed)
	worker := <-exits
	var workerEnd trials.NightEnd
	worker.ReadReport(t, &workerEnd)
	if workerEnd.ExitCode != 0 || h.LatestRun() != workerEnd.Run {
		t.Errorf("the run %s with the lock ended with exit code %d and latest is %s, want 0 and the run as latest: %s",
			workerEnd.Run, workerEnd.ExitCode, h.LatestRun(), workerEnd.Error)
	}
	for _, end := range refused {
		if end.ExitCode != 4 || end.Locked == nil || end.Locked.PID != 0 && end.Locked.PID != worker.Cmd.Process.Pid {
			t.Errorf("a process ended with exit code %d and %+v, want 4 and a LockedError of process %d or of no process: %s",
				end.ExitCode, end.Locked, worker.Cmd.Process.Pid, end.Error)
		}
	}
}
