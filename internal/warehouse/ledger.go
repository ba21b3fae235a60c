package warehouse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Outcome is how a run, or any other work of the program, ended.
type Outcome string

// Outcomes. A Killed run did not write its own entry: it was ended by SIGKILL or
// with the machine, or the disk had no room for a line. Misused and Held are
// never in the ledger.
const (
	Complete    Outcome = "complete"
	Partial     Outcome = "partial"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	Killed      Outcome = "killed"
	Misused     Outcome = "misused" // usage or configuration
	Held        Outcome = "held"    // another run holds the lock
)

// ExitCode is the number that a script or a supervisor gets for an outcome. It
// is a promise and the only place that knows these numbers. Killed has none.
func (o Outcome) ExitCode() int {
	switch o {
	case Complete:
		return 0
	case Misused:
		return 2
	case Partial:
		return 3
	case Held:
		return 4
	case Interrupted:
		return 130
	case Killed:
		return -1
	}
	return 1
}

// Kinds of runs. Runs of a program from before there were refreshes have no kind:
// they are nights.
const (
	Night   = "night"
	Refresh = "refresh"
	// Replay builds the tables of a night again from its landed answers. Rebuild
	// builds the catalog from the Parquet series. Rollback points readers at an
	// earlier version.
	Replay   = "replay"
	Rebuild  = "rebuild"
	Rollback = "rollback"
)

// Run is what the ledger records of a run, failed ones too. It is written to state/ when
// the run ends, and to meta.runs at the next publish.
type Run struct {
	ID string `json:"run_id"`
	// Kind distinguishes nights from refreshes, which read the few records that
	// events named and do not count for the schedule.
	Kind string `json:"kind,omitempty"`
	// Version is the one that a rollback points readers at.
	Version    string    `json:"version,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"` // zero: killed, unknown
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	Outcome    Outcome   `json:"outcome"`
	ExitCode   int       `json:"exit_code"` // -1: killed
	Program    string    `json:"program_version"`
	// Attempts counts how often the run ended; more than once when it was resumed.
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`

	Requests         int64   `json:"requests"`
	Bytes            int64   `json:"bytes"`
	Retries          int64   `json:"retries"`
	ThrottledSeconds float64 `json:"throttled_seconds"`

	Rows    int64 `json:"rows"`
	New     int64 `json:"rows_new"`
	Changed int64 `json:"rows_changed"`
	Gone    int64 `json:"rows_gone"`

	// Losses are why a gate stopped the run.
	Losses []Loss `json:"losses,omitempty"`
	// NightsLeft estimates how many more nights are needed for what this one had no
	// time to read; 0: nothing was left, or it is unknown.
	NightsLeft int64 `json:"nights_left,omitempty"`

	Streams []RunStream `json:"streams"`
}

// IsNight reports whether the run is a night, read or replayed.
func (r Run) IsNight() bool { return r.Kind == "" || r.Kind == Night || r.Kind == Replay }

// isPublished reports whether the run published a snapshot.
func (r Run) isPublished() bool {
	return (r.Outcome == Complete || r.Outcome == Partial) && !r.SnapshotAt.IsZero()
}

// VisibleVersion is the version that readers saw when the run had ended; empty when the
// run did not change it.
func (r Run) VisibleVersion() string {
	switch {
	case !r.isPublished():
		return ""
	case r.Kind == Rollback:
		return r.Version
	}
	return r.ID
}

// Loss is how many rows a run would have removed from a table.
type Loss struct {
	Table string `json:"table"`
	// Stream is set when several streams fill the table and the loss is that of one.
	Stream string `json:"stream,omitempty"`
	Gone   int64  `json:"gone"`
	Before int64  `json:"before"`
}

// describedLosses is how many losses are described one by one.
const describedLosses = 3

// DescribeLosses describes losses for people: the first tables by name, the others by
// their number.
func DescribeLosses(losses []Loss) string {
	var parts []string
	for _, l := range losses[:min(len(losses), describedLosses)] {
		of := l.Table
		if l.Stream != "" {
			of += " (" + l.Stream + ")"
		}
		parts = append(parts, fmt.Sprintf("%d of %d rows of %s", l.Gone, l.Before, of))
	}
	if more := len(losses) - describedLosses; more > 0 {
		parts = append(parts, fmt.Sprintf("much of %d more tables", more))
	}
	return strings.Join(parts, ", ")
}

// Unread returns how many ids in how many streams the run left for a later night.
func (r Run) Unread() (ids int64, streams int) {
	for _, s := range r.Streams {
		if s.Unread > 0 {
			ids, streams = ids+s.Unread, streams+1
		}
	}
	return ids, streams
}

// RunStream is the result of one stream in a run: its grade with the evidence, and its
// telemetry.
type RunStream struct {
	Stream     string `json:"stream"`
	Grade      string `json:"grade"`
	Reason     string `json:"reason"`
	Pages      int64  `json:"pages"`
	Requests   int64  `json:"requests"`
	Passes     int64  `json:"passes"`
	TotalFirst int64  `json:"total_first"`
	TotalLast  int64  `json:"total_last"`
	Distinct   int64  `json:"distinct_ids"`
	Repeated   int64  `json:"repeated_ids"`
	// Rows are those of the first table in the snapshot, RowsOld those of them that
	// were neither read nor proven in this run.
	Rows      int64 `json:"rows"`
	RowsOld   int64 `json:"rows_old"`
	Rejects   int64 `json:"rejects"`
	Fetched   int64 `json:"fetched"`
	Carried   int64 `json:"carried"`
	Rechecked int64 `json:"rechecked"`
	Failed    int64 `json:"failed"`
	// Unread are the ids that were left for a later night because run.max_duration
	// was over.
	Unread int64 `json:"unread"`
	// AgeSince is when the oldest of the rows in RowsOld was last read.
	AgeSince time.Time `json:"age_since,omitzero"`

	Bytes             int64   `json:"bytes"`
	Retries           int64   `json:"retries"`
	RateLimited       int64   `json:"rate_limited"`
	Landed            int64   `json:"landed_hits"`
	LatencyP50        float64 `json:"latency_p50_ms"`
	LatencyP95        float64 `json:"latency_p95_ms"`
	LatencyMax        float64 `json:"latency_max_ms"`
	RateWaitSeconds   float64 `json:"rate_wait_seconds"`
	RetryAfterSeconds float64 `json:"retry_after_seconds"`
	RateUsed          float64 `json:"rate_used"`
}

func (l *Ledger) path() string { return l.folder.path(stateDir, "runs.jsonl") }

// Ledger is the list of runs in state/runs.jsonl, with the notes of runs that have
// not ended.
type Ledger struct {
	folder   *Folder
	versions *Versions
	program  string // as in Config.Program
}

// Record adds a run to the ledger.
func (l *Ledger) Record(r Run) error {
	line, err := sealLine(r)
	if err != nil {
		return fmt.Errorf("record run %s: %w", r.ID, err)
	}
	return l.folder.disk.AppendLine(l.path(), line, privateFile)
}

// runFile is a copy of the run's entry inside its version. Recover reads it when the run
// was killed between its publish and its line in the ledger.
const runFile = "run.json"

// WriteEntry writes the run's entry into the draft.
func (d *Draft) WriteEntry(r Run) error {
	data, err := sealLine(r)
	if err != nil {
		return fmt.Errorf("write the entry of run %s: %w", r.ID, err)
	}
	return d.w.Folder.disk.WriteFile(filepath.Join(d.Dir, runFile), append(data, '\n'), privateFile)
}

// removeDamagedLines moves damaged and torn lines from the ledger to a file beside it.
// Until then verify reports them.
func (l *Ledger) removeDamagedLines() error {
	data, err := os.ReadFile(l.path())
	if err != nil {
		return nil // reading the ledger reports it
	}
	damaged := unreadableLines(data)
	if len(damaged) == 0 {
		return nil
	}
	for _, line := range damaged {
		if err := l.folder.disk.AppendLine(l.path()+".damaged", line, privateFile); err != nil {
			return err
		}
	}
	whole := slices.DeleteFunc(bytes.SplitAfter(data, []byte("\n")), func(line []byte) bool {
		return slices.ContainsFunc(damaged, func(d []byte) bool { return bytes.Equal(d, bytes.TrimSuffix(line, []byte("\n"))) })
	})
	return l.folder.disk.WriteFile(l.path(), bytes.Join(whole, nil), privateFile)
}

// missingRuns returns the entries that the ledger lacks: of a run that was killed after
// its publish from its version, of one killed before from its note.
func (l *Ledger) missingRuns() ([]Run, error) {
	runs, err := l.Runs()
	if err != nil {
		return nil, err
	}
	latest, ok, err := l.versions.Latest()
	if err != nil {
		return nil, err
	}
	var missing []Run
	known := entryOf(runs, latest)
	if ok && (known.ID == "" || known.Outcome == Failed || known.Outcome == Interrupted || known.Outcome == Killed) {
		if missing, err = l.enclosedRun(latest); err != nil {
			return nil, err
		}
	}
	for _, note := range []string{l.unfinishedPath(), l.asidePath()} {
		u, ok, err := readNote(note)
		if err != nil {
			return nil, err
		}
		if ok && u.Run != latest && entryOf(runs, u.Run).Attempts < u.Attempt {
			missing = append(missing, l.entryOfNote(u, latest))
		}
	}
	return missing, nil
}

// entryOfNote is the entry of a run that left a note and no line. A rollback that was
// killed after its switch is complete.
func (l *Ledger) entryOfNote(u Unfinished, latest string) Run {
	if u.Kind == Rollback && u.Version == latest {
		return l.rollbackEntry(u.Run, u.Version, u.StartedAt)
	}
	return u.killedRun()
}

func (u Unfinished) killedRun() Run {
	return Run{ID: u.Run, Kind: u.Kind, StartedAt: u.StartedAt, Outcome: Killed, ExitCode: Killed.ExitCode(), Program: u.Program,
		Error: "the run was killed, or the machine went down; it published nothing"}
}

// enclosedRun reads a version's own entry. A rebuilt version has none.
func (l *Ledger) enclosedRun(run string) ([]Run, error) {
	data, err := os.ReadFile(filepath.Join(l.folder.VersionPath(run), runFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r Run
	if err == nil {
		err = unsealLine(bytes.TrimSuffix(data, []byte("\n")), &r)
	}
	if err != nil || r.ID != run {
		return nil, nil // damaged: the catalog knows the run
	}
	return []Run{r}, nil
}

func entryOf(runs []Run, id string) Run {
	i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == id })
	if i < 0 {
		return Run{}
	}
	return runs[i]
}

// Runs reads the ledger, oldest first. A run that was resumed has a line for each time
// it ended; the last one counts. Torn and damaged lines are skipped.
func (l *Ledger) Runs() ([]Run, error) {
	data, err := os.ReadFile(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	var runs []Run
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var r Run
		if unsealLine(lines.Bytes(), &r) == nil {
			runs = mergeRun(runs, r)
		}
	}
	return runs, lines.Err()
}

// AllRuns returns Runs and the killed runs that the next Recover will enter. It leaves
// out the run that holds the lock now.
func (l *Ledger) AllRuns() ([]Run, error) {
	var atWork *HeldError
	held := l.folder.Held()
	if held != nil && !errors.As(held, &atWork) {
		return nil, held
	}
	runs, err := l.Runs()
	if err != nil || atWork != nil {
		return runs, err
	}
	missing, err := l.missingRuns()
	for _, r := range missing {
		runs = mergeRun(runs, r)
	}
	return runs, err
}

// mergeRun adds a line to the runs of the lines before it.
func mergeRun(runs []Run, r Run) []Run {
	r.Attempts = 1 + entryOf(runs, r.ID).Attempts
	runs = slices.DeleteFunc(runs, func(o Run) bool { return o.ID == r.ID })
	return append(runs, r)
}

// rollbackEntry is the entry of a rollback.
func (l *Ledger) rollbackEntry(id, version string, at time.Time) Run {
	r := Run{ID: id, Kind: Rollback, Version: version, StartedAt: at, EndedAt: at, Outcome: Complete, Program: l.program}
	if m, err := l.versions.ReadManifest(version); err == nil {
		r.SnapshotAt = m.SnapshotAt
		for _, t := range m.Tables {
			r.Rows += t.Rows
		}
	}
	return r
}

// newEntryID is a new id for an entry without a folder.
func (l *Ledger) newEntryID(now time.Time) (string, error) {
	runs, err := l.Runs()
	if err != nil {
		return "", err
	}
	for at := now; ; at = at.Add(time.Second) {
		id, err := l.folder.NewRunID(at)
		if err != nil || entryOf(runs, id).ID == "" {
			return id, err
		}
	}
}
