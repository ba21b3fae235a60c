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
	problem := fmt.Sprintf("the link \"latest\" leads to %s, and %s was published last", e.Target, e.Published)
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

// LinkChecker compares the link "latest" with the ledger.
type LinkChecker struct {
	folder   *Folder
	versions *Versions
	ledger   *Ledger
	series   *Series
}

// Check returns nil if the link "latest" leads to the version that was published last, or to the version
// of a run or rollback that was killed before it was recorded in the ledger. If the ledger names no version,
// every existing version is accepted. Check also returns nil if there is no link and no version was ever
// published. Otherwise it returns a *LostError.
func (c *LinkChecker) Check() error {
	latest, hasLink, err := c.versions.Latest()
	if err != nil {
		return err
	}
	runs, err := c.ledger.Runs()
	if err != nil {
		return err
	}
	lost := &LostError{Target: latest, statErr: fs.ErrNotExist}
	for _, r := range runs {
		lost.Published = cmp.Or(r.VisibleVersion(), lost.Published)
	}
	if !hasLink && lost.Published == "" && !c.hasSnapshots() {
		return nil
	}
	if hasLink {
		_, lost.statErr = os.Stat(c.folder.VersionPath(latest))
		if lost.statErr == nil && c.accepts(runs, latest, lost.Published) {
			return nil
		}
		if lost.statErr != nil && !errors.Is(lost.statErr, fs.ErrNotExist) {
			return c.folder.folderErr(lost.statErr)
		}
	}
	lost.Remedy = c.describeRemedy(latest, lost.Published)
	return lost
}

// accepts reports whether Check accepts an existing target of the link. published is the version that was
// published last, or empty if the ledger names no version.
func (c *LinkChecker) accepts(runs []ledger.Run, target, published string) bool {
	if published == "" || target == published {
		return true
	}
	if u, ok, err := readUnfinished(c.ledger.UnresumableRunPath()); err == nil && ok && u.Version == target {
		return true
	}
	if ledger.Find(runs, target).IsPublished() {
		return false
	}
	_, hasLine := c.ledger.readCopy(c.folder.VersionPath(target), target)
	return hasLine
}

// hasSnapshots reports whether there are versions or days of the series. It ignores the version of a
// run that was killed before it switched the link "latest". If it cannot list the versions, it returns true.
func (c *LinkChecker) hasSnapshots() bool {
	versions, err := c.versions.List()
	if u, ok, readErr := readUnfinished(c.ledger.ResumableRunPath()); ok && readErr == nil {
		versions = slices.DeleteFunc(versions, func(run string) bool { return run == u.Run })
	}
	return err != nil || len(versions) > 0 || len(c.series.Days()) > 0
}

// describeRemedy returns the text of LostError.Remedy.
func (c *LinkChecker) describeRemedy(target, published string) string {
	versions, err := c.versions.List()
	if err != nil {
		return err.Error()
	}
	var remedies []string
	if slices.Contains(versions, published) {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rollback %s\" (the snapshot that was published last)", published))
	}
	if n := len(versions); n > 0 && len(remedies) == 0 {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rollback %s\" (the newest of the kept versions %s)", versions[n-1], strings.Join(versions, ", ")))
	}
	if slices.Contains(versions, target) && target != published {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rollback %s\" (the snapshot that readers see now)", target))
	}
	if days := c.series.Days(); len(days) > 0 {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rebuild\" (builds the catalog from the Parquet series, %s to %s, days: %d)", days[0], days[len(days)-1], len(days)))
	}
	if len(remedies) == 0 {
		return "neither a version nor the Parquet series is left; nothing was published: restore a backup, or name another warehouse.dir to begin anew"
	}
	return "nothing was published: run " + strings.Join(remedies, ", or ")
}
