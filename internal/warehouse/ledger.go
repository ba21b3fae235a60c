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
