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

// Retention limits the files that Prune keeps. The newest day is always kept.
type Retention struct {
	// RawDays is the age, in days, up to which stored responses of the service are kept.
	RawDays int
	// Daily, Weekly and Monthly are the numbers of days, ISO weeks and months whose last
	// snapshot the Parquet series keeps.
	Daily, Weekly, Monthly int
}

// Pruned is a file or folder that Prune removes. Path is relative to the warehouse.
type Pruned struct {
	Path  string
	Bytes int64
}

// Pruner removes files that are no longer needed.
type Pruner struct {
	folder     *Folder
	versions   *Versions
	ledger     *RunLog
	series     *Series
	discardRaw bool // as in Config.DiscardRaw
}

// Prune removes the stored responses, days of the series, versions, files of changes and held nights that are
// no longer needed, and returns them. With dryRun it only returns them. The caller must have the Lock.
func (p *Pruner) Prune(r Retention, now time.Time, dryRun bool) ([]Pruned, error) {
	responses, responsesErr := p.oldResponses(r, now)
	versions, versionsErr := p.oldVersions()
	held, heldErr := p.versions.staleHeld()
	changes, changesErr := p.series.unneededMetaChanges()
	if err := errors.Join(responsesErr, versionsErr, heldErr, changesErr); err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	old := slices.Concat(responses, p.series.oldDays(r), versions, held, changes)
	if !dryRun {
		// The index forgets the days first: if Prune is killed, verify then reports no lost day.
		if err := p.series.forgetDays(old); err != nil {
			return nil, fmt.Errorf("prune: %w", err)
		}
	}
	var pruned []Pruned
	for _, path := range old {
		size, err := sizeOf(path)
		if err == nil && !dryRun {
			err = p.remove(path)
		}
		if err != nil {
			return pruned, fmt.Errorf("prune %s: %w", path, err)
		}
		name, _ := filepath.Rel(p.folder.dir, path)
		pruned = append(pruned, Pruned{name, size})
	}
	return pruned, nil
}

// remove removes a file or folder. Other commands must not find a part of a version or of a held night.
func (p *Pruner) remove(path string) error {
	parent := filepath.Base(filepath.Dir(path))
	if parent == VersionsDir || parent == heldDir {
		return p.folder.disk.Discard(path)
	}
	return p.folder.disk.RemoveAll(path)
}

// oldVersions returns the versions beyond keep_versions. It leaves out versions whose day is missing in
// the series, because they contain the only copy of the day.
func (p *Pruner) oldVersions() ([]string, error) {
	old, err := p.versions.oldPaths()
	if err != nil {
		return nil, err
	}
	missing, err := p.series.Missing()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(old, func(path string) bool {
		return slices.ContainsFunc(missing, func(m Manifest) bool { return m.RunID == filepath.Base(path) })
	}), nil
}

// oldResponses returns the stored responses that are no longer needed or older than Retention.RawDays. The
// newest run, a run that can be resumed, a held night, and folders that are not named like a run have no
// age limit.
func (p *Pruner) oldResponses(r Retention, now time.Time) ([]string, error) {
	runs, err := p.folder.RunsWithResponses()
	if err != nil {
		return nil, err
	}
	unfinished, canResume, err := p.ledger.ResumableRun()
	if err != nil {
		return nil, err
	}
	latest, _, err := p.versions.Latest()
	if err != nil {
		return nil, err
	}
	held, err := listFolders(p.folder.Path(heldDir))
	if err != nil {
		return nil, err
	}
	var old []string
	maxAge := time.Duration(r.RawDays) * 24 * time.Hour
	for i, run := range runs {
		at, isRun := RunTime(run)
		isNewest := i == len(runs)-1
		isResumable := canResume && run == unfinished.Run
		hasAgeLimit := isRun && !isNewest && !isResumable && !slices.Contains(held, run)
		if p.isUnneeded(run, latest) || hasAgeLimit && now.Sub(at) > maxAge {
			old = append(old, p.folder.RawPath(run))
		}
	}
	return old, nil
}

// AreResponsesUnneeded reports whether Config.DiscardRaw is set and the stored responses of a run are no
// longer needed. RemoveUnneededResponses may not have removed all of them yet.
func (p *Pruner) AreResponsesUnneeded(run string) (bool, error) {
	latest, _, err := p.versions.Latest()
	return err == nil && p.isUnneeded(run, latest), err
}

// isUnneeded is like AreResponsesUnneeded. latest is the version that readers see. A run that is not
// later than latest cannot be resumed, so its stored responses are no longer needed.
func (p *Pruner) isUnneeded(run, latest string) bool {
	at, ok := RunTime(run)
	latestTime, hasLatest := RunTime(latest)
	return p.discardRaw && ok && hasLatest && !at.After(latestTime)
}

// RemoveUnneededResponses removes the stored responses that are no longer needed, and syncs their folder.
// Without Config.DiscardRaw it does nothing. The caller must have the Lock.
func (p *Pruner) RemoveUnneededResponses() error {
	latest, ok, err := p.versions.Latest()
	if err != nil || !ok || !p.discardRaw {
		return err
	}
	const message = "remove the stored responses of published runs: %w"
	runs, err := p.folder.RunsWithResponses()
	if err != nil {
		return fmt.Errorf(message, err)
	}
	var errs error
	removed := 0
	for _, run := range runs {
		if p.isUnneeded(run, latest) {
			path := p.folder.RawPath(run)
			errs = errors.Join(errs, p.folder.disk.Do("discarding", path, func() error { return os.RemoveAll(path) }))
			removed++
		}
	}
	if errs != nil {
		return fmt.Errorf(message, errs)
	}
	if removed == 0 {
		return nil
	}
	if err := p.folder.disk.Sync(p.folder.Path(rawDir)); err != nil {
		return fmt.Errorf(message, err)
	}
	return nil
}

// KeptDays returns the newest r.Daily days, and the last day of each of the newest r.Weekly ISO weeks and of the
// newest r.Monthly months. The newest day is always kept. Days have the form 2006-01-02.
func (r Retention) KeptDays(days []string) map[string]bool {
	keep := map[string]bool{}
	keepLast := func(periods int, periodOf func(day time.Time) string) {
		isCovered := map[string]bool{}
		for _, day := range slices.Backward(slices.Sorted(slices.Values(days))) {
			if len(isCovered) >= periods {
				break
			}
			at, _ := time.Parse(time.DateOnly, day)
			period := periodOf(at)
			if isCovered[period] {
				continue
			}
			isCovered[period] = true
			keep[day] = true
		}
	}
	keepLast(max(1, r.Daily), DayOf)
	keepLast(r.Weekly, func(day time.Time) string {
		year, week := day.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	})
	keepLast(r.Monthly, func(day time.Time) string { return day.Format("2006-01") })
	return keep
}

// RunTime returns the time in the id of a run.
func RunTime(run string) (time.Time, bool) {
	base, _, _ := strings.Cut(run, "-")
	at, err := time.Parse("20060102T150405Z", base)
	return at, err == nil
}

// sizeOf includes files with other hard links, although removing them frees no space.
func sizeOf(path string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
