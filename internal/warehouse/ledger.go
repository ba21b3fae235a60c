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

// Kinds of runs. A ledger from before there were refreshes has none: all of its
// runs are nights.
const (
	Night   = "night"
	Refresh = "refresh"
	// Replay is a night whose tables were built again from what it had landed;
	// Rebuild built the catalog from the Parquet series; Rollback points readers
	// at a version that was there.
	Replay   = "replay"
	Rebuild  = "rebuild"
	Rollback = "rollback"
)

// Run is what the ledger keeps of one night, failed ones too. It is written to
// state/ when the night ends and joins meta.runs at the next publish.
type Run struct {
	ID string `json:"run_id"`
	// Kind tells a night from a refresh, which reads the few records that
	// events named and counts for no schedule.
	Kind string `json:"kind,omitempty"`
	// Version is the one that a rollback points readers at.
	Version    string    `json:"version,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"` // zero: killed, nobody knows when
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	Outcome    Outcome   `json:"outcome"`
	ExitCode   int       `json:"exit_code"` // -1: killed
	Program    string    `json:"program_version"`
	// Attempts counts how often the run ended, the last time included: more
	// than once when it was taken up again.
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

	// Losses are what a gate stopped the run for.
	Losses []Loss `json:"losses,omitempty"`
	// NightsLeft is for about how many nights more there is something left that
	// this one had no time to read; 0: nothing was left, or nobody can tell.
	NightsLeft int64 `json:"nights_left,omitempty"`

	Streams []RunStream `json:"streams"`
}

// IsNight reports whether the run is a night, read or replayed.
func (r Run) IsNight() bool { return r.Kind == "" || r.Kind == Night || r.Kind == Replay }

// published reports whether the run gave readers a snapshot.
func (r Run) published() bool {
	return (r.Outcome == Complete || r.Outcome == Partial) && !r.SnapshotAt.IsZero()
}

// Shows is the version that readers saw when the run had ended; empty when they saw
// the same as before.
func (r Run) Shows() string {
	switch {
	case !r.published():
		return ""
	case r.Kind == Rollback:
		return r.Version
	}
	return r.ID
}

// Loss is what a run would have taken from a table.
type Loss struct {
	Table string `json:"table"`
	// Stream is set where the loss is that of one of several streams that fill
	// the table.
	Stream string `json:"stream,omitempty"`
	Gone   int64  `json:"gone"`
	Before int64  `json:"before"`
}

// describedLosses is how many losses are told one by one.
const describedLosses = 3

// DescribeLosses says for people what would be lost: the first tables by name, the
// others by their number.
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

// Unread sums up what the run left for a later night: so many ids, in so many
// streams.
func (r Run) Unread() (ids int64, streams int) {
	for _, s := range r.Streams {
		if s.Unread > 0 {
			ids, streams = ids+s.Unread, streams+1
		}
	}
	return ids, streams
}

// RunStream is what one stream did in a run: its grade with the evidence, and
// its telemetry.
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
	// Rows counts those of the first table in the snapshot, RowsOld those of them
	// that were neither read nor proven in this run.
	Rows      int64 `json:"rows"`
	RowsOld   int64 `json:"rows_old"`
	Rejects   int64 `json:"rejects"`
	Fetched   int64 `json:"fetched"`
	Carried   int64 `json:"carried"`
	Rechecked int64 `json:"rechecked"`
	Failed    int64 `json:"failed"`
	// Unread counts the ids that were left for a later night, since the time of
	// this one was over.
	Unread int64 `json:"unread"`
	// AgeSince is when the oldest was last read of what was neither read nor
	// proven in this run.
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

func (w *Warehouse) ledgerPath() string { return w.path(stateDir, "runs.jsonl") }

// Record adds a run to the ledger.
func (w *Warehouse) Record(r Run) error {
	line, err := sealLine(r)
	if err != nil {
		return fmt.Errorf("record run %s: %w", r.ID, err)
	}
	return w.disk.AppendLine(w.ledgerPath(), line, privateFile)
}

// runFile is the ledger's entry of a run inside its version: what Recover reads
// when the run was killed between its publish and its entry.
const runFile = "run.json"

// Enclose writes the run's entry into the draft.
func (d *Draft) Enclose(r Run) error {
	data, err := sealLine(r)
	if err != nil {
		return fmt.Errorf("enclose run %s: %w", r.ID, err)
	}
	return d.w.disk.WriteFile(filepath.Join(d.Dir, runFile), append(data, '\n'), privateFile)
}

// Recover enters what the ledger lacks of runs that were killed, and drops the
// note of one that was killed when it had published: behind a newer version it
// would pass for a run to take up. What such a run was to discard goes. It needs
// the Lock.
func (w *Warehouse) Recover() error {
	if err := w.CheckIdentity(); err != nil {
		return err
	}
	err := w.mendLedger()
	if err != nil {
		return err
	}
	missing, err := w.missing()
	for _, r := range missing {
		err = errors.Join(err, w.Record(r))
	}
	if err == nil {
		err = w.FinishedAside()
	}
	if err != nil {
		return err
	}
	return errors.Join(w.forgetPublished(), w.DiscardSpent())
}

// mendLedger takes damaged lines and a torn one out of the ledger, into a file of their
// own beside it: verify tells of them until then.
func (w *Warehouse) mendLedger() error {
	data, err := os.ReadFile(w.ledgerPath())
	if err != nil {
		return nil // whoever needs it says why
	}
	damaged := unreadableLines(data)
	if len(damaged) == 0 {
		return nil
	}
	for _, line := range damaged {
		if err := w.disk.AppendLine(w.ledgerPath()+".damaged", line, privateFile); err != nil {
			return err
		}
	}
	whole := slices.DeleteFunc(bytes.SplitAfter(data, []byte("\n")), func(line []byte) bool {
		return slices.ContainsFunc(damaged, func(d []byte) bool { return bytes.Equal(d, bytes.TrimSuffix(line, []byte("\n"))) })
	})
	return w.disk.WriteFile(w.ledgerPath(), bytes.Join(whole, nil), privateFile)
}

func (w *Warehouse) forgetPublished() error {
	u, ok, err := readNote(w.unfinishedPath())
	if err != nil || !ok {
		return err
	}
	if latest, _, err := w.Latest(); err != nil || latest != u.Run {
		return err
	}
	return w.Finished()
}

// missing are the entries that the ledger lacks: of a run that was killed after
// its publish, whole; of one killed before, what its note tells.
func (w *Warehouse) missing() ([]Run, error) {
	runs, err := w.Runs()
	if err != nil {
		return nil, err
	}
	latest, ok, err := w.Latest()
	if err != nil {
		return nil, err
	}
	var missing []Run
	known := entryOf(runs, latest)
	if ok && (known.ID == "" || known.Outcome == Failed || known.Outcome == Interrupted || known.Outcome == Killed) {
		if missing, err = w.enclosed(latest); err != nil {
			return nil, err
		}
	}
	for _, note := range []string{w.unfinishedPath(), w.asidePath()} {
		u, ok, err := readNote(note)
		if err != nil {
			return nil, err
		}
		if ok && u.Run != latest && entryOf(runs, u.Run).Attempts < u.Attempt {
			missing = append(missing, w.ending(u, latest))
		}
	}
	return missing, nil
}

// ending is the entry of a run that left a note and no line of the ledger. A
// rollback that came as far as the switch did what it was to do.
func (w *Warehouse) ending(u Unfinished, latest string) Run {
	if u.Kind == Rollback && u.Version == latest {
		return w.rolledBack(u.Run, u.Version, u.StartedAt)
	}
	return u.killed()
}

func (u Unfinished) killed() Run {
	return Run{ID: u.Run, Kind: u.Kind, StartedAt: u.StartedAt, Outcome: Killed, ExitCode: Killed.ExitCode(), Program: u.Program,
		Error: "the run ended without a word: it was killed, or the machine went down; nothing was published by it"}
}

// enclosed reads a version's own entry. A version that was rebuilt is no run
// and has none.
func (w *Warehouse) enclosed(run string) ([]Run, error) {
	data, err := os.ReadFile(filepath.Join(w.VersionPath(run), runFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r Run
	if err == nil {
		err = unsealLine(bytes.TrimSuffix(data, []byte("\n")), &r)
	}
	if err != nil || r.ID != run {
		return nil, nil // a damaged entry is none: the catalog knows the run
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

// Runs reads the ledger, oldest first. A run that was taken up again has a line
// for each time it ended; the last one counts. A line that is torn by a crash or
// damaged is passed over.
func (w *Warehouse) Runs() ([]Run, error) {
	data, err := os.ReadFile(w.ledgerPath())
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
			runs = enter(runs, r)
		}
	}
	return runs, lines.Err()
}

// Told is the ledger as it can be shown at any time: Runs, and what the next run
// would Recover. Of a run that is at work now it says nothing.
func (w *Warehouse) Told() ([]Run, error) {
	var atWork *HeldError
	held := w.Held()
	if held != nil && !errors.As(held, &atWork) {
		return nil, held
	}
	runs, err := w.Runs()
	if err != nil || atWork != nil {
		return runs, err
	}
	missing, err := w.missing()
	for _, r := range missing {
		runs = enter(runs, r)
	}
	return runs, err
}

// enter adds a line to the runs that the lines before it make.
func enter(runs []Run, r Run) []Run {
	r.Attempts = 1 + entryOf(runs, r.ID).Attempts
	runs = slices.DeleteFunc(runs, func(o Run) bool { return o.ID == r.ID })
	return append(runs, r)
}
