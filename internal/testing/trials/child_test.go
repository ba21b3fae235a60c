package trials_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// child is a child process of a trial.
type child struct {
	cmd *exec.Cmd
	// input is the standard input of the process. See inputClosed.
	input  io.Closer
	output *outputBuffer
	// reportPath is the file that the program writes at its end, see writeReport.
	reportPath string
	exited     chan struct{}
}

// spawn starts a program in a child process. name selects the program in TestMain. If the program
// succeeds, it writes a report to reportPath.
func spawn(t *testing.T, name, reportPath string, p program) *child {
	t.Helper()
	self, err := os.Executable()
	testharness.Must(t, err)
	fields, err := json.Marshal(p)
	testharness.Must(t, err)
	testharness.Must(t, os.RemoveAll(reportPath))
	c := &child{output: &outputBuffer{ready: make(chan struct{})}, reportPath: reportPath, exited: make(chan struct{})}
	c.cmd = exec.CommandContext(t.Context(), self, string(fields))
	c.cmd.Env = append(os.Environ(), programVariable+"="+name)
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	c.input, err = c.cmd.StdinPipe()
	testharness.Must(t, err)
	testharness.Must(t, c.cmd.Start())
	go func() {
		_ = c.cmd.Wait() // cmd.ProcessState has the result
		close(c.exited)
	}()
	t.Cleanup(func() { <-c.exited })
	return c
}

// kill ends the process with SIGKILL.
func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-c.exited
}

// wasKilled waits for the end of the process and reports whether a signal ended it.
func (c *child) wasKilled() bool {
	<-c.exited
	return c.cmd.ProcessState.ExitCode() == -1
}

// readReport waits for the end of the process and reads its report.
func (c *child) readReport(t *testing.T, report any) {
	t.Helper()
	if <-c.exited; !c.cmd.ProcessState.Success() {
		t.Fatalf("process %d ended with %v:\n%s", c.cmd.Process.Pid, c.cmd.ProcessState, c.output)
	}
	data, err := os.ReadFile(c.reportPath)
	testharness.Must(t, err)
	testharness.Must(t, json.Unmarshal(data, report))
}

func writeReport(path string, report any) error {
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// readyLine is printed by a child that waits for its input to be closed.
const readyLine = "ready"

// inputClosed prints readyLine and returns a channel that is closed when the parent closes the
// input of this process.
func inputClosed() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	fmt.Println(readyLine)
	return closed
}

// outputBuffer collects the output of a process.
type outputBuffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	isReady bool
	// ready is closed when the output contains readyLine.
	ready chan struct{}
}

func (s *outputBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if !s.isReady && bytes.Contains(s.text.Bytes(), []byte(readyLine+"\n")) {
		s.isReady = true
		close(s.ready)
	}
	return len(p), nil
}

func (s *outputBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// job contains the settings of a night in a child process.
type job struct {
	URL, Dir, Report string
	// Agent is the User-Agent of the requests.
	Agent string
	// Streams are the streams with tables in the warehouse. Nil means all.
	Streams []string
	At      time.Time
	// KillAt is the step at which the process kills itself. The zero value means never.
	KillAt stepCall
	// MaxFileBytes limits the size of each file, to simulate a full disk. 0 means no limit. If
	// LimitedDetail is n > 0, the limit applies only while the n-th order detail is stored.
	MaxFileBytes  int64
	LimitedDetail int
	// DryRun makes the night a dry run.
	DryRun bool
	// DiscardRaw removes the stored responses of a published night.
	DiscardRaw bool
	// WaitForInput makes the process wait until its input is closed.
	WaitForInput bool
}

// stepCall is the moment at which a run reaches a step for the Nth time. A trial kills the run there, or
// makes the step fail. Nth 0 means the first time. If After is set, the count begins when the run first
// reaches the step After.
type stepCall struct {
	Step  string
	Nth   int
	After string
}

func (s stepCall) String() string { return fmt.Sprintf("%s %d", s.Step, max(s.Nth, 1)) }

// nightEnd is the result of a night that was not killed.
type nightEnd struct {
	Run, Error string
	Outcome    ledger.Outcome
	ExitCode   int
	// Locked is set if another process had locked the warehouse.
	Locked *warehouse.LockedError
}

func (j job) config() pipeline.Config {
	streams := stream.All()
	if len(j.Streams) > 0 {
		streams = slices.DeleteFunc(streams, func(s stream.Stream) bool { return !slices.Contains(j.Streams, s.Name) })
	}
	cfg := pipeline.Config{
		NewWarehouse: true,
		Warehouse: warehouse.Config{Dir: j.Dir, KeepVersions: 3, MemoryLimit: "256MB", Threads: 1, Program: "test",
			Tables: stream.Tables(streams), Statuses: defaultStatuses(), DiscardRaw: j.DiscardRaw, Step: j.KillAt.hook(killSelf)},
		Fetch: fetch.Config{BaseURL: j.URL, PageSize: 7, UserAgent: j.Agent,
			Token: func(context.Context) (string, error) { return token, nil }},
		Streams: streams, Details: "changed", LiveDays: 45, Recheck: 7, Limits: load.Limits{Share: 0.2, Rows: 50},
		DryRun: j.DryRun, ResumeMaxAge: 6 * time.Hour, Now: func() time.Time { return j.At }, Log: slog.New(slog.DiscardHandler),
	}
	for _, s := range streams {
		cfg.Chosen = append(cfg.Chosen, s.Name)
	}
	return cfg
}

// hook returns a function for warehouse.Config.Step that calls act at the moment s. It returns nil
// if s has no step.
func (s stepCall) hook(act func() error) func(step, path string) error {
	if s.Step == "" {
		return nil
	}
	var mu sync.Mutex
	counting, left := s.After == "", max(s.Nth, 1)
	return func(step, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if counting = counting || step == s.After; !counting || step != s.Step {
			return nil
		}
		if left--; left != 0 {
			return nil
		}
		return act()
	}
}

// killSelf ends this process with SIGKILL. It returns only if that fails.
func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err == nil {
		select {}
	}
	return err
}

// run runs the night and reports its nightEnd.
func (j job) run(ctx context.Context) error {
	if j.WaitForInput {
		<-inputClosed()
	}
	cfg := j.config()
	restore, err := j.limitDisk(&cfg)
	if err != nil {
		return err
	}
	end := runNight(ctx, cfg)
	return errors.Join(restore(), writeReport(j.Report, end))
}

// runNight runs a night and returns its result. The result includes the error.
func runNight(ctx context.Context, cfg pipeline.Config) nightEnd {
	res, err := pipeline.Run(ctx, cfg)
	end := nightEnd{Run: res.Run.ID, Outcome: res.Run.Outcome, ExitCode: exitCode(ctx, res, err)}
	if err != nil {
		end.Error = err.Error()
	}
	end.Locked, _ = errors.AsType[*warehouse.LockedError](err)
	return end
}

// start runs the job in a child process.
func (j job) start(t *testing.T) *child {
	t.Helper()
	j.Report = filepath.Join(t.TempDir(), "report.json")
	return spawn(t, "night", j.Report, j)
}

// User agents of the runs in the two warehouses of a crash trial.
const (
	killedAgent      = "killed"
	undisturbedAgent = "undisturbed"
)

// stepRecorder records the names of the steps of a night.
type stepRecorder struct {
	mu    sync.Mutex
	steps []string
}

func (r *stepRecorder) record(name, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, name)
	return nil
}
