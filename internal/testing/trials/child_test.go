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
	"placementsync/internal/warehouse"
)

// assignment is the environment variable that makes this test binary another
// process of a trial. What that process is to do stands in it as JSON.
const assignment = "PLACEMENTSYNC_TRIAL"

// assigned reads what this process is to do, and skips the test in one that no
// trial has started.
func assigned(t *testing.T, task any) {
	t.Helper()
	text := os.Getenv(assignment)
	if text == "" {
		t.Skip("runs in the processes that a trial starts")
	}
	must(t, json.Unmarshal([]byte(text), task))
}

// child is another process of a trial.
type child struct {
	cmd *exec.Cmd
	// input is its standard input; closing it is the one thing it is told.
	input  io.Closer
	said   *transcript
	report string
	exited chan struct{}
}

// spawn runs one test of this binary in a process of its own. report is the
// file that it leaves when it comes to its end by itself.
func spawn(t *testing.T, test, report string, task any) *child {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	text, err := json.Marshal(task)
	must(t, err)
	must(t, os.RemoveAll(report))
	c := &child{said: &transcript{ready: make(chan struct{})}, report: report, exited: make(chan struct{})}
	c.cmd = exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$")
	c.cmd.Env = append(os.Environ(), assignment+"="+string(text))
	c.cmd.Stdout, c.cmd.Stderr = c.said, c.said
	c.input, err = c.cmd.StdinPipe()
	must(t, err)
	must(t, c.cmd.Start())
	go func() {
		// How it ended is read from the process state.
		_ = c.cmd.Wait()
		close(c.exited)
	}()
	t.Cleanup(func() { <-c.exited })
	return c
}

// kill ends the process the hard way.
func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-c.exited
}

// killed waits for the end and tells whether it was a signal.
func (c *child) killed() bool {
	<-c.exited
	return c.cmd.ProcessState.ExitCode() == -1
}

// read waits for the end and reads the report.
func (c *child) read(t *testing.T, report any) {
	t.Helper()
	if <-c.exited; !c.cmd.ProcessState.Success() {
		t.Fatalf("process %d ended with %v:\n%s", c.cmd.Process.Pid, c.cmd.ProcessState, c.said)
	}
	data, err := os.ReadFile(c.report)
	must(t, err)
	must(t, json.Unmarshal(data, report))
}

// leave writes the report of this process.
func leave(t *testing.T, path string, report any) {
	t.Helper()
	data, err := json.Marshal(report)
	must(t, err)
	must(t, os.WriteFile(path, data, 0o600))
}

// readyLine is what a child says when it waits for its input to be closed.
const readyLine = "ready"

// untilTold tells the parent that this process is ready, and returns a channel
// that is closed when the parent closes the input.
func untilTold() <-chan struct{} {
	told := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(told)
	}()
	fmt.Println(readyLine)
	return told
}

// transcript is what a process says.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	heard bool
	// ready is closed when the process says so.
	ready chan struct{}
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if !s.heard && bytes.Contains(s.text.Bytes(), []byte(readyLine+"\n")) {
		s.heard = true
		close(s.ready)
	}
	return len(p), nil
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// job is a night for another process.
type job struct {
	URL, Dir, Report string
	// Agent tells the service who asks.
	Agent string
	// Streams are those that the warehouse has tables for; none named: all.
	Streams []string
	At      time.Time
	Strike  strike
	// Room bounds the bytes of every file that is written, as a full disk
	// would; 0: no bound. With Moment it does so only while the order's detail
	// of that number lands.
	Room   int64
	Moment int
	// Dry publishes nothing.
	Dry bool
	// Discard keeps nothing of what a published night landed.
	Discard bool
	// Gate makes the process wait for its input to be closed.
	Gate bool
}

// strike ends the process by SIGKILL at the Nth call of a step, counted from
// the first call of After if that is set.
type strike struct {
	Step  string
	Nth   int
	After string
}

func (s strike) String() string { return fmt.Sprintf("%s %d", s.Step, max(s.Nth, 1)) }

// ended is how a night came to its end by itself.
type ended struct {
	Run, Error string
	Outcome    ledger.Outcome
	Code       int
	Held       *warehouse.HeldError
}

// config is the night that a job describes.
func (j job) config() pipeline.Config {
	streams := stream.All()
	if len(j.Streams) > 0 {
		streams = slices.DeleteFunc(streams, func(s stream.Stream) bool { return !slices.Contains(j.Streams, s.Name) })
	}
	cfg := pipeline.Config{
		Warehouse: warehouse.Config{Dir: j.Dir, KeepVersions: 3, MemoryLimit: "256MB", Threads: 1, Program: "test",
			Tables: stream.Tables(streams), DiscardRaw: j.Discard, Step: j.Strike.hook(die)},
		Fetch: fetch.Config{BaseURL: j.URL, PageSize: 7, UserAgent: j.Agent,
			Token: func(context.Context) (string, error) { return token, nil }},
		Streams: streams, Details: "changed", LiveDays: 45, Recheck: 7, KnownRecords: 1, Limits: load.Limits{Share: 0.2, Rows: 50},
		DryRun: j.Dry, ResumeMaxAge: 6 * time.Hour, Now: func() time.Time { return j.At }, Log: slog.New(slog.DiscardHandler),
	}
	for _, s := range streams {
		cfg.Chosen = append(cfg.Chosen, s.Name)
	}
	return cfg
}

// hook counts the steps and strikes; nil where nothing is to be struck.
func (s strike) hook(blow func() error) func(step string) error {
	if s.Step == "" {
		return nil
	}
	var mu sync.Mutex
	armed, left := s.After == "", max(s.Nth, 1)
	return func(step string) error {
		mu.Lock()
		defer mu.Unlock()
		if armed = armed || step == s.After; !armed || step != s.Step {
			return nil
		}
		if left--; left != 0 {
			return nil
		}
		return blow()
	}
}

// die ends this process by SIGKILL. The signal may take a moment, in which
// nothing must go on.
func die() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err == nil {
		select {}
	}
	return err
}

// TestNightChild runs one night in a process of its own.
func TestNightChild(t *testing.T) {
	var j job
	assigned(t, &j)
	if j.Gate {
		<-untilTold()
	}
	cfg := j.config()
	restore := j.starve(t, &cfg)
	end := run(t, cfg)
	restore()
	leave(t, j.Report, end)
}

// run runs a night, whatever its end.
func run(t *testing.T, cfg pipeline.Config) ended {
	t.Helper()
	res, err := pipeline.Run(t.Context(), cfg)
	end := ended{Run: res.Run.ID, Outcome: res.Run.Outcome, Code: exitCode(t.Context(), res, err)}
	if err != nil {
		end.Error = err.Error()
	}
	end.Held, _ = errors.AsType[*warehouse.HeldError](err)
	return end
}

// start runs the job in another process.
func (j job) start(t *testing.T) *child {
	t.Helper()
	j.Report = filepath.Join(t.TempDir(), "report.json")
	return spawn(t, "TestNightChild", j.Report, j)
}
