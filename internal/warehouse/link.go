package warehouse

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"placementsync/internal/ledger"
)

// LostError means that the link "latest" is missing, or does not lead to the version that was
// published last. The next night must not build on a version with a different history.
type LostError struct {
	// Target is the version to which the link leads, or empty if there is no link. Published is the
	// last published version in the ledger, or empty if there is no ledger.
	Target, Published string
	// Remedy names the commands that repair the link.
	Remedy string
	// statErr is fs.ErrNotExist if the link or its target does not exist, and otherwise nil.
	statErr error
}

func (e *LostError) Unwrap() error { return e.statErr }

func (e *LostError) Error() string {
	problem := fmt.Sprintf("the link \"latest\" leads to %s, but %s was published last", e.Target, e.Published)
	switch {
	case e.Target == "" && e.Published == "":
		problem = "the link \"latest\" is missing, and so is the ledger, although snapshots were published"
	case e.Target == "":
		problem = fmt.Sprintf("the link \"latest\" is missing, and %s was published last", e.Published)
	case e.statErr != nil:
		problem = fmt.Sprintf("version %s, which the link \"latest\" names, is missing", e.Target)
	}
	return "find the newest version: " + problem + "; " + e.Remedy
}

// CheckLink returns nil if the link "latest" leads to the version that was published last, or to the version
// of a run or rollback that was killed before it was recorded in the ledger. If the ledger names no version,
// every existing version is accepted. CheckLink also returns nil if there is no link and no version was ever
// published. Otherwise it returns a *LostError.
func (w *Warehouse) CheckLink() error {
	latest, hasLink, err := w.Versions.Latest()
	if err != nil {
		return err
	}
	runs, err := w.RunLog.Runs()
	if err != nil {
		return err
	}
	published := ""
	for _, r := range runs {
		published = cmp.Or(r.VisibleVersion(), published)
	}
	lostErr := func(statErr error) error {
		return &LostError{latest, published, w.describeRemedy(latest, published), statErr}
	}
	if !hasLink {
		if published == "" && !w.hasSnapshots() {
			return nil
		}
		return lostErr(fs.ErrNotExist)
	}
	_, err = os.Stat(w.Folder.VersionPath(latest))
	if errors.Is(err, fs.ErrNotExist) {
		return lostErr(err)
	}
	if err != nil {
		return w.Folder.folderErr(err)
	}
	if w.acceptsLatest(runs, latest, published) {
		return nil
	}
	return lostErr(nil)
}

// acceptsLatest reports whether CheckLink accepts an existing target of the link. published is the version
// that was published last, or empty if the ledger names no version.
func (w *Warehouse) acceptsLatest(runs []ledger.Run, latest, published string) bool {
	if published == "" || latest == published {
		return true
	}
	u, ok, err := w.RunLog.readUnfinished(w.RunLog.UnresumableRunPath())
	if err == nil && ok && u.Version == latest {
		return true // the target of a killed rollback
	}
	if ledger.Find(runs, latest).IsPublished() {
		return false // an earlier version
	}
	_, isOfKilledRun := w.RunLog.readCopy(w.Folder.VersionPath(latest), latest)
	return isOfKilledRun
}

// hasSnapshots reports whether there are versions or days of the series. It ignores the version of a
// run that was killed before it switched the link "latest". If it cannot list the versions, it returns true.
func (w *Warehouse) hasSnapshots() bool {
	versions, err := w.Versions.List()
	if err != nil {
		return true
	}
	if u, ok, err := w.RunLog.readUnfinished(w.RunLog.ResumableRunPath()); ok && err == nil {
		versions = slices.DeleteFunc(versions, func(run string) bool { return run == u.Run })
	}
	return len(versions) > 0 || len(w.Series.Days()) > 0
}

func (w *Warehouse) describeRemedy(target, published string) string {
	versions, err := w.Versions.List()
	if err != nil {
		return err.Error()
	}
	var remedies []string
	if slices.Contains(versions, published) {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rollback %s\" (the snapshot that was published last)", published))
	} else if n := len(versions); n > 0 {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rollback %s\" (the newest of the kept versions %s)", versions[n-1], strings.Join(versions, ", ")))
	}
	if slices.Contains(versions, target) && target != published {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rollback %s\" (the snapshot that readers see now)", target))
	}
	remedies = append(remedies, w.rebuildRemedies()...)
	if len(remedies) == 0 {
		return "neither a version nor the Parquet series is left: restore a backup, or name another warehouse.dir to begin anew"
	}
	return "no version was changed: run " + strings.Join(remedies, ", or ")
}

func (w *Warehouse) rebuildRemedies() []string {
	days := w.Series.Days()
	if len(days) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("\"placementsync rebuild\" (builds the catalog from the Parquet series, %s to %s, days: %d)", days[0], days[len(days)-1], len(days))}
}
