package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A warehouse knows which version it published last: by its ledger, and where that is
// lost by its versions and its series. The link "latest" has to agree, or nothing is
// built: what is built upon another version would be another history.

// LostError says that the link "latest" is gone or leads elsewhere than the ledger.
type LostError struct {
	// Points is the version that the link leads to, empty when there is no link;
	// Published the one that the ledger knows as the last, empty when it knows none.
	Points, Published string
	// Remedy names the commands that set it right.
	Remedy string
	// gone is set when the link, or what it leads to, is not there.
	gone error
}

// Unwrap is fs.ErrNotExist when the link, or what it leads to, is not there.
func (e *LostError) Unwrap() error { return e.gone }

func (e *LostError) Error() string {
	found := fmt.Sprintf("the link \"latest\" leads to %s, and %s was published last", e.Points, e.Published)
	switch {
	case e.Points == "" && e.Published == "":
		found = "the link \"latest\" is gone, and so is the ledger, though snapshots were published"
	case e.Points == "":
		found = fmt.Sprintf("the link \"latest\" is gone, and %s was published last", e.Published)
	case e.gone != nil:
		found = fmt.Sprintf("version %s, which readers should see, is gone", e.Points)
	}
	return "find the newest version: " + found + "; " + e.Remedy
}

// CheckIdentity returns a *LostError unless the link "latest" leads to the version
// that was published last. Nothing published and no link agree, too.
func (w *Warehouse) CheckIdentity() error {
	latest, linked, err := w.Latest()
	if err != nil {
		return err
	}
	runs, err := w.Runs()
	if err != nil {
		return err
	}
	lost := &LostError{Points: latest, Published: shownLast(runs)}
	if linked {
		_, err := os.Stat(w.VersionPath(latest))
		if err == nil && w.accepted(runs, *lost) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return w.atPlace(err)
		}
		lost.gone = err
	} else if lost.Published == "" && !w.holdsSnapshots() {
		return nil
	} else {
		lost.gone = fs.ErrNotExist
	}
	lost.Remedy = w.way(*lost)
	return lost
}

// accepted tells whether the version that the link leads to is the one that was
// published last, or that of a run which was killed before the ledger had its line.
func (w *Warehouse) accepted(runs []Run, at LostError) bool {
	if at.Published == "" || at.Points == at.Published {
		return true
	}
	if note, ok, err := readNote(w.asidePath()); err == nil && ok && note.Version == at.Points {
		return true
	}
	known := entryOf(runs, at.Points)
	if known.ID != "" && known.Published() {
		return false
	}
	entry, err := w.enclosed(at.Points)
	return err == nil && len(entry) == 1
}

// holdsSnapshots tells whether anything was ever published here. A version that a
// killed run did not come to switch to was not.
func (w *Warehouse) holdsSnapshots() bool {
	versions, err := w.Versions()
	if note, ok, noteErr := readNote(w.unfinishedPath()); ok && noteErr == nil {
		versions = slices.DeleteFunc(versions, func(run string) bool { return run == note.Run })
	}
	return err != nil || len(versions) > 0 || len(w.seriesDays()) > 0
}

// way names the commands that set the link right.
func (w *Warehouse) way(lost LostError) string {
	versions, err := w.Versions()
	if err != nil {
		return err.Error()
	}
	var ways []string
	if slices.Contains(versions, lost.Published) {
		ways = append(ways, fmt.Sprintf("placementsync rollback %s points readers at it again", lost.Published))
	}
	if n := len(versions); n > 0 && len(ways) == 0 {
		ways = append(ways, fmt.Sprintf("kept are %s: placementsync rollback %s points readers at that", strings.Join(versions, ", "), versions[n-1]))
	}
	if slices.Contains(versions, lost.Points) && lost.Points != lost.Published {
		ways = append(ways, fmt.Sprintf("placementsync rollback %s stays with what they see now", lost.Points))
	}
	if days := w.seriesDays(); len(days) > 0 {
		ways = append(ways, fmt.Sprintf("placementsync rebuild builds the catalog from the Parquet series (%s to %s, days: %d)", days[0], days[len(days)-1], len(days)))
	}
	if len(ways) == 0 {
		ways = []string{"neither a version nor the Parquet series is left: restore a backup, or name another warehouse.dir to begin anew"}
	}
	return strings.Join(append(ways, "nothing was changed"), "; ")
}

// shownLast is the version that the ledger says readers see; empty when it knows
// none.
func shownLast(runs []Run) (version string) {
	for _, r := range runs {
		if v := r.Shows(); v != "" {
			version = v
		}
	}
	return version
}

// seriesDays are the days of the Parquet series, oldest first, of whatever table;
// none where it cannot be read.
func (w *Warehouse) seriesDays() []string {
	found, err := filepath.Glob(w.path(seriesDir, "*", seriesDay+"*"))
	if err != nil {
		return nil
	}
	var days []string
	for _, path := range found {
		day := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), seriesDay), ".json")
		if _, err := time.Parse(time.DateOnly, day); err == nil {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}
