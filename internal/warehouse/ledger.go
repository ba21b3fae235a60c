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
	"time"

	"placementsync/internal/ledger"
)

// A run and how it ended are nouns of internal/ledger, which needs no database.
type (
	Run       = ledger.Run
	RunStream = ledger.Stream
	Loss      = ledger.Loss
	Outcome   = ledger.Outcome
)

// Outcomes.
const (
	Complete    = ledger.Complete
	Partial     = ledger.Partial
	Failed      = ledger.Failed
	Interrupted = ledger.Interrupted
	Killed      = ledger.Killed
	Misused     = ledger.Misused
	Held        = ledger.Held
)

// Kinds of runs.
const (
	Night    = ledger.Night
	Refresh  = ledger.Refresh
	Replay   = ledger.Replay
	Rebuild  = ledger.Rebuild
	Rollback = ledger.Rollback
)

// DescribeLosses is ledger.DescribeLosses.
func DescribeLosses(losses []Loss) string { return ledger.DescribeLosses(losses) }

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

// runFile is the ledger's entry of a run inside its version: what Recover reads
// when the run was killed between its publish and its entry.
const runFile = "run.json"

// WriteEntry writes the run's entry into the draft.
func (d *Draft) WriteEntry(r Run) error {
	data, err := sealLine(r)
	if err != nil {
		return fmt.Errorf("enclose run %s: %w", r.ID, err)
	}
	return d.w.Folder.disk.WriteFile(filepath.Join(d.Dir, runFile), append(data, '\n'), privateFile)
}

// removeDamagedLines takes damaged lines and a torn one out of the ledger, into a file of their
// own beside it: verify tells of them until then.
func (l *Ledger) removeDamagedLines() error {
	data, err := os.ReadFile(l.path())
	if err != nil {
		return nil // whoever needs it says why
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

// missingRuns are the entries that the ledger lacks: of a run that was killed after
// its publish, whole; of one killed before, what its note tells.
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

// entryOfNote is the entry of a run that left a note and no line of the ledger. A
// rollback that came as far as the switch did what it was to do.
func (l *Ledger) entryOfNote(u Unfinished, latest string) Run {
	if u.Kind == Rollback && u.Version == latest {
		return l.rollbackEntry(u.Run, u.Version, u.StartedAt)
	}
	return u.killedRun()
}

func (u Unfinished) killedRun() Run {
	return Run{ID: u.Run, Kind: u.Kind, StartedAt: u.StartedAt, Outcome: Killed, ExitCode: Killed.ExitCode(), Program: u.Program,
		Error: "the run ended without a word: it was killed, or the machine went down; nothing was published by it"}
}

// enclosedRun reads a version's own entry. A version that was rebuilt is no run
// and has none.
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

// AllRuns is the ledger as it can be shown at any time: Runs, and what the next run
// would Recover. Of a run that is at work now it says nothing.
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

// mergeRun adds a line to the runs that the lines before it make.
func mergeRun(runs []Run, r Run) []Run {
	r.Attempts = 1 + entryOf(runs, r.ID).Attempts
	runs = slices.DeleteFunc(runs, func(o Run) bool { return o.ID == r.ID })
	return append(runs, r)
}

// rollbackEntry is the ledger's entry of a rollback.
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

// newEntryID is the id of an entry of the ledger that has no folder.
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
