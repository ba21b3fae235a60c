package trials

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

	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// Child is a child process of a trial.
type Child struct {
	Cmd *exec.Cmd
	// Input is the standard input of the process. See InputClosed.
	Input  io.Closer
	Output *outputBuffer
	// reportPath is the file that the program writes at its end, see WriteReport.
	reportPath string
	Exited     chan struct{}
}

// Spawn starts a program in a child process. name selects the program in TestMain. If the program
// succeeds, it writes a report to reportPath.
func Spawn(t *testing.T, name, reportPath string, p Program) *Child {
	t.Helper()
	self, err := os.Executable()
	testharness.Must(t, err)
	fields, err := json.Marshal(p)
	testharness.Must(t, err)
	testharness.Must(t, os.RemoveAll(reportPath))
	c := &Child{Output: &outputBuffer{Ready: make(chan struct{})}, reportPath: reportPath, Exited: make(chan struct{})}
	c.Cmd = exec.CommandContext(t.Context(), self, string(fields))
	c.Cmd.Env = append(os.Environ(), programVariable+"="+name)
	c.Cmd.Stdout, c.Cmd.Stderr = c.Output, c.Output
	c.Input, err = c.Cmd.StdinPipe()
	testharness.Must(t, err)
	testharness.Must(t, c.Cmd.Start())
	go func() {
		_ = c.Cmd.Wait() // cmd.ProcessState has the result
		close(c.Exited)
	}()
	t.Cleanup(func() { <-c.Exited })
	return c
}

// WasKilled waits for the end of the process and reports whether a signal ended it.
func (c *Child) WasKilled() bool {
	<-c.Exited
	return c.Cmd.ProcessState.ExitCode() == -1
}

// ReadReport waits for the end of the process and reads its report.
func (c *Child) ReadReport(t *testing.T, report any) {
	t.Helper()
	<-c.Exited
	if !c.Cmd.ProcessState.Success() {
		t.Fatalf("process %d ended with %v:\n%s", c.Cmd.Process.Pid, c.Cmd.ProcessState, c.Output)
	}
	data, err := os.ReadFile(c.reportPath)
	testharness.Must(t, err)
	testharness.Must(t, json.Unmarshal(data, report))
}

// WriteReport writes the report of a child process, see [Child.ReadReport].
func WriteReport(path string, report any) error {
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// readyLine is printed by a child that waits for its input to be closed.
const readyLine = "ready"

// InputClosed prints readyLine and returns a channel that is closed when the parent closes the input of this process.
func InputClosed() <-chan struct{} {
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
	// Ready is closed when the output contains readyLine.
	Ready chan struct{}
}

func (s *outputBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if !s.isReady && bytes.Contains(s.text.Bytes(), []byte(readyLine+"\n")) {
		s.isReady = true
		close(s.Ready)
	}
	return len(p), nil
}

func (s *outputBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Job contains the settings of a night in a child process.
type Job struct {
	URL, Dir, Report string
	// Streams are the streams with tables in the warehouse. Nil means all.
	Streams []string
	At      time.Time
	// KillAt is the step at which the process kills itself. The zero value means never.
	KillAt StepCall
	// MaxFileBytes limits the size of each file, to simulate a full disk. 0 means no limit.
	MaxFileBytes int64
}

// StepCall is the moment at which a run reaches a step for the Nth time. A trial kills the run there, or makes the
// step fail. Nth 0 means the first time. If After is set, the count begins when the run first reaches the step After.
type StepCall struct {
	Step  string
	Nth   int
	After string
}

func (s StepCall) String() string { return fmt.Sprintf("%s %d", s.Step, max(s.Nth, 1)) }

// NightEnd is the result of a night that was not killed.
type NightEnd struct {
	Run, Error string
	Outcome    ledger.Outcome
	ExitCode   int
}

// Config returns the configuration of the night.
func (j Job) Config() pipeline.Config {
	cfg := pipeline.Config{
		NewWarehouse: true,
		Warehouse: warehouse.Config{Dir: j.Dir, KeepVersions: 3, MemoryLimit: "256MB", Threads: 1, Program: "test",
			Step: j.KillAt.Hook(killSelf)},
		Fetch: fetch.Config{BaseURL: j.URL, PageSize: 7,
			Token: func(context.Context) (string, error) { return Token, nil }},
		Details: pipeline.ChangedDetails, LiveDays: 45, Recheck: 7, Limits: load.Limits{Share: 0.2, Rows: 50},
		ResumeMaxAge: 6 * time.Hour, Now: func() time.Time { return j.At }, Log: slog.New(slog.DiscardHandler),
	}
	for _, s := range config.Default().Statuses.List() {
		cfg.Warehouse.Statuses = append(cfg.Warehouse.Statuses, warehouse.Status(s))
	}
	SetStreams(&cfg, slices.DeleteFunc(stream.All(), func(s stream.Stream) bool {
		return len(j.Streams) > 0 && !slices.Contains(j.Streams, s.Name)
	}))
	return cfg
}

// SetStreams makes a night read streams into a warehouse with their tables.
func SetStreams(cfg *pipeline.Config, streams []stream.Stream) {
	cfg.Streams, cfg.Warehouse.Tables, cfg.Chosen = streams, stream.Tables(streams), nil
	for _, s := range streams {
		cfg.Chosen = append(cfg.Chosen, s.Name)
	}
}

// Hook returns a function for warehouse.Config.Step that calls act at the moment s. It returns nil if s has no step.
func (s StepCall) Hook(act func() error) func(step, path string) error {
	if s.Step == "" {
		return nil
	}
	var mu sync.Mutex
	counting, left := s.After == "", max(s.Nth, 1)
	return func(step, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		counting = counting || step == s.After
		if !counting || step != s.Step {
			return nil
		}
		left--
		if left != 0 {
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

// Run runs the night and reports its NightEnd.
func (j Job) Run(ctx context.Context) error {
	restore, err := j.limitDisk()
	if err != nil {
		return err
	}
	end := RunNight(ctx, j.Config())
	return errors.Join(restore(), WriteReport(j.Report, end))
}

// RunNight runs a night and returns its result. The result includes the error.
func RunNight(ctx context.Context, cfg pipeline.Config) NightEnd {
	res, err := pipeline.Run(ctx, cfg)
	end := NightEnd{Run: res.Run.ID, Outcome: res.Run.Outcome, ExitCode: ExitCode(ctx, res, err)}
	if err != nil {
		end.Error = err.Error()
	}
	return end
}

// Start runs the job in a child process.
func (j Job) Start(t *testing.T) *Child {
	t.Helper()
	j.Report = filepath.Join(t.TempDir(), "report.json")
	return Spawn(t, "night", j.Report, j)
}

// StepRecorder records the names of the steps of a night.
type StepRecorder struct {
	mu    sync.Mutex
	Steps []string
}

// Record is a function for warehouse.Config.Step.
func (r *StepRecorder) Record(name, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Steps = append(r.Steps, name)
	return nil
}
