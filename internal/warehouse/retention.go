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

// Retention is how much is kept. Zero keeps none of a kind; the newest of everything is
// always kept.
type Retention struct {
	// RawDays is the age in days up to which landed answers are kept.
	RawDays int
	// Daily, Weekly and Monthly are how many days of the Parquet series are kept: the
	// last snapshot of each day, ISO week and month.
	Daily, Weekly, Monthly int
}

// Pruned is one thing that Prune removes, relative to the warehouse.
type Pruned struct {
	Path  string
	Bytes int64
}

// Pruner removes what is no longer kept.
type Pruner struct {
	folder     *Folder
	versions   *Versions
	ledger     *Ledger
	series     *Series
	metaLog    *MetaLog
	discardRaw bool // as in Config.DiscardRaw
}

// Prune removes landed answers, days of the series and versions that are no longer kept.
// With dryRun it only returns what it would remove. It needs the Lock.
func (p *Pruner) Prune(r Retention, now time.Time, dryRun bool) ([]Pruned, error) {
	var doomed []string
	for _, find := range []func() ([]string, error){
		func() ([]string, error) { return p.oldRaw(r, now) },
		func() ([]string, error) { return p.series.oldDays(r) },
		p.oldVersions, p.metaLog.oldPaths,
	} {
		paths, err := find()
		if err != nil {
			return nil, fmt.Errorf("prune: %w", err)
		}
		doomed = append(doomed, paths...)
	}
	if !dryRun {
		if err := p.series.forgetDays(doomed); err != nil {
			return nil, fmt.Errorf("prune: %w", err)
		}
	}
	var gone []Pruned
	for _, path := range doomed {
		size, err := sizeOf(path)
		switch {
		case err != nil || dryRun:
		case filepath.Dir(path) == p.folder.Path(VersionsDir): // Rollback may read it
			err = p.folder.disk.Discard(path)
		default:
			err = os.RemoveAll(path)
		}
		if err != nil {
			return gone, fmt.Errorf("prune %s: %w", path, err)
		}
		name, _ := filepath.Rel(p.folder.dir, path)
		gone = append(gone, Pruned{name, size})
	}
	return gone, nil
}

// oldVersions finds the versions that are not kept. Those that the series does not have yet
// are: there is no other copy of their days.
func (p *Pruner) oldVersions() ([]string, error) {
	old, err := p.versions.oldPaths()
	if err != nil {
		return nil, err
	}
	missing, err := p.series.Missing()
	return slices.DeleteFunc(old, func(path string) bool {
		return slices.ContainsFunc(missing, func(m Manifest) bool { return m.RunID == filepath.Base(path) })
	}), err
}

// oldRaw finds the landed answers of runs that are too old. Those of the newest run, and
// of one that can be resumed, are kept.
func (p *Pruner) oldRaw(r Retention, now time.Time) ([]string, error) {
	runs, err := p.folder.LandedRuns()
	if err != nil {
		return nil, err
	}
	unfinished, waiting, err := p.ledger.Unfinished()
	if err != nil {
		return nil, err
	}
	latest, _, err := p.versions.Latest()
	if err != nil {
		return nil, err
	}
	var old []string
	for i, run := range runs {
		at, ok := RunTime(run)
		isNeeded := !ok || i == len(runs)-1 || waiting && run == unfinished.Run
		if p.isSpentBefore(run, latest) || !isNeeded && now.Sub(at) > time.Duration(r.RawDays)*24*time.Hour {
			old = append(old, p.folder.RawPath(run))
		}
	}
	return old, nil
}

// IsSpent reports whether Config.DiscardRaw removes what a run landed, even if a kill
// has left some of it.
func (p *Pruner) IsSpent(run string) (bool, error) {
	latest, _, err := p.versions.Latest()
	return err == nil && p.isSpentBefore(run, latest), err
}

// isSpentBefore reports whether Config.DiscardRaw removes the landed answers of a run:
// the version latest is of its time or a later one, so that the run cannot be resumed.
func (p *Pruner) isSpentBefore(run, latest string) bool {
	at, ok := RunTime(run)
	last, published := RunTime(latest)
	return p.discardRaw && ok && published && !at.After(last)
}

// DiscardSpent removes landed answers as Config.DiscardRaw says, and syncs. It completes
// what a kill has cut short. It needs the Lock.
func (p *Pruner) DiscardSpent() error {
	latest, ok, err := p.versions.Latest()
	if err != nil || !ok || !p.discardRaw {
		return err
	}
	runs, err := p.folder.LandedRuns()
	gone := 0
	for _, run := range runs {
		if p.isSpentBefore(run, latest) {
			path := p.folder.RawPath(run)
			err = errors.Join(err, p.folder.disk.Do("discarding", path, func() error { return os.RemoveAll(path) }))
			gone++
		}
	}
	if err == nil && gone > 0 {
		err = p.folder.disk.Sync(p.folder.Path(rawDir))
	}
	if err != nil {
		return fmt.Errorf("discard landed answers: %w", err)
	}
	return nil
}

// KeptDays chooses among days: the last snapshot of each of the newest Daily days,
// Weekly ISO weeks and Monthly months; and the newest.
func (r Retention) KeptDays(days []time.Time) map[time.Time]bool {
	sorted := slices.SortedFunc(slices.Values(days), func(a, b time.Time) int { return b.Compare(a) })
	keep := map[time.Time]bool{}
	for _, grain := range []struct {
		most int
		name func(time.Time) string
	}{
		{max(1, r.Daily), func(t time.Time) string { return t.Format(time.DateOnly) }},
		{r.Weekly, func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprintf("%d-W%02d", y, w) }},
		{r.Monthly, func(t time.Time) string { return t.Format("2006-01") }},
	} {
		seen := map[string]bool{}
		for _, day := range sorted {
			if name := grain.name(day); !seen[name] && len(seen) < grain.most {
				seen[name], keep[day] = true, true
			}
		}
	}
	return keep
}

// RunTime is when a run began, by its id.
func RunTime(run string) (time.Time, bool) {
	base, _, _ := strings.Cut(run, "-")
	at, err := time.Parse("20060102T150405Z", base)
	return at, err == nil
}

// sizeOf adds up the files of a folder. It counts a hard link too, though removing it
// may free nothing yet.
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
