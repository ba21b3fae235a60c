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

// Retention is what stays. Zero keeps none of a kind; the newest of everything
// stays always.
type Retention struct {
	// RawDays is the age in days up to which landed answers stay.
	RawDays int
	// Daily, Weekly and Monthly are how many days of the Parquet series stay
	// at each grain: the last snapshot of each day, ISO week and month.
	Daily, Weekly, Monthly int
}

// Pruned is one thing that retention removes, relative to the warehouse.
type Pruned struct {
	Path  string
	Bytes int64
}

// Prune removes what retention no longer keeps: landed answers, days of the
// series and versions beyond keep_versions. With dryRun it only says what it
// would remove. It needs the Lock.
func (w *Warehouse) Prune(r Retention, now time.Time, dryRun bool) ([]Pruned, error) {
	var doomed []string
	for _, find := range []func(Retention, time.Time) ([]string, error){w.oldRaw, w.oldDays, w.oldVersions, w.oldMeta} {
		paths, err := find(r, now)
		if err != nil {
			return nil, fmt.Errorf("prune: %w", err)
		}
		doomed = append(doomed, paths...)
	}
	if !dryRun {
		if err := w.forgetDays(doomed); err != nil {
			return nil, fmt.Errorf("prune: %w", err)
		}
	}
	var gone []Pruned
	for _, path := range doomed {
		size, err := sizeOf(path)
		if err == nil && !dryRun {
			err = w.remove(path)
		}
		if err != nil {
			return gone, fmt.Errorf("prune %s: %w", path, err)
		}
		name, _ := filepath.Rel(w.cfg.Dir, path)
		gone = append(gone, Pruned{name, size})
	}
	return gone, nil
}

// forgetDays takes days out of the index before anything of them goes: what is left
// of one should the process be killed is removed by the next prune, and not missed.
func (w *Warehouse) forgetDays(doomed []string) error {
	if _, err := os.Stat(w.indexPath()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return w.changeIndex(func(days map[string]string) {
		for _, path := range doomed {
			if filepath.Dir(path) == w.path(seriesDir, manifestsDir) {
				delete(days, dayIn(path))
			}
		}
	})
}

// remove drops what retention no longer keeps: a version as a whole, since
// Rollback may look into it.
func (w *Warehouse) remove(path string) error {
	if filepath.Dir(path) == w.path(versionsDir) {
		return w.disk.Discard(path)
	}
	return os.RemoveAll(path)
}

// oldRaw finds the landed answers of runs that are too old. Those of the
// newest run stay, and of one that can still be taken up.
func (w *Warehouse) oldRaw(r Retention, now time.Time) ([]string, error) {
	runs, err := folders(w.path(rawDir))
	if err != nil {
		return nil, err
	}
	unfinished, waiting, err := w.Unfinished()
	if err != nil {
		return nil, err
	}
	latest, _, err := w.Latest()
	if err != nil {
		return nil, err
	}
	var old []string
	for i, run := range runs {
		if w.spent(run, latest) {
			old = append(old, w.RawPath(run))
			continue
		}
		at, ok := RunTime(run)
		if !ok || i == len(runs)-1 || waiting && run == unfinished.Run {
			continue
		}
		if now.Sub(at) > time.Duration(r.RawDays)*24*time.Hour {
			old = append(old, w.RawPath(run))
		}
	}
	return old, nil
}

// Spent reports whether Config.DiscardRaw leaves nothing of what a run landed,
// though a kill may have left some of it standing.
func (w *Warehouse) Spent(run string) (bool, error) {
	latest, _, err := w.Latest()
	return err == nil && w.spent(run, latest), err
}

// spent reports whether Config.DiscardRaw wants the landed answers of a run
// gone: a snapshot of its time or a later one is published, so that it cannot be
// taken up any more.
func (w *Warehouse) spent(run, latest string) bool {
	at, ok := RunTime(run)
	last, published := RunTime(latest)
	return w.cfg.DiscardRaw && ok && published && !at.After(last)
}

// DiscardSpent removes landed answers as Config.DiscardRaw says, durably. It
// finishes what a kill has cut short, and needs the Lock.
func (w *Warehouse) DiscardSpent() error {
	latest, ok, err := w.Latest()
	if err != nil || !ok || !w.cfg.DiscardRaw {
		return err
	}
	runs, err := w.Landed()
	gone := 0
	for _, run := range runs {
		if w.spent(run, latest) {
			path := w.RawPath(run)
			err = errors.Join(err, w.disk.Do("discarding", path, func() error { return os.RemoveAll(path) }))
			gone++
		}
	}
	if err == nil && gone > 0 {
		err = w.disk.Sync(w.path(rawDir))
	}
	if err != nil {
		return fmt.Errorf("discard landed answers: %w", err)
	}
	return nil
}

// oldVersions finds the versions beyond keep_versions. Those that the newest
// was built on stay first, since a rollback leads to them; then the youngest of
// the others, such as what a rollback turned away from.
func (w *Warehouse) oldVersions(Retention, time.Time) ([]string, error) {
	runs, err := w.Versions()
	if err != nil {
		return nil, err
	}
	latest, _, err := w.Latest()
	if err != nil {
		return nil, err
	}
	keep := []string{latest}
	line := w.lineage(latest)
	slices.Reverse(line)
	for _, m := range line {
		keep = append(keep, m.RunID)
	}
	slices.Reverse(runs)
	keep = append(keep, runs...)
	var kept, old []string
	for _, run := range keep {
		switch {
		case !slices.Contains(runs, run), slices.Contains(kept, run), slices.Contains(old, w.VersionPath(run)):
		case len(kept) < max(1, w.cfg.KeepVersions):
			kept = append(kept, run)
		default:
			old = append(old, w.VersionPath(run))
		}
	}
	return old, nil
}

// oldDays finds the days of the series that no grain keeps: of each the manifest
// first, since it stands for all that it names.
func (w *Warehouse) oldDays(r Retention, _ time.Time) ([]string, error) {
	var days []time.Time
	for _, name := range w.seriesDays() {
		if day, err := time.Parse(time.DateOnly, name); err == nil {
			days = append(days, day)
		}
	}
	keep := r.Keeps(days)
	var old []string
	for _, day := range days {
		if keep[day] {
			continue
		}
		found, err := filepath.Glob(w.path(seriesDir, "*", seriesDay+day.Format(time.DateOnly)+"*"))
		if err != nil {
			return nil, err
		}
		old = append(old, found...)
	}
	return old, nil
}

// Keeps chooses among days: of the newest Daily days, Weekly ISO weeks and
// Monthly months that have a snapshot, the last one each; and the newest.
func (r Retention) Keeps(days []time.Time) map[time.Time]bool {
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

// folders lists the folders in a folder, in name order; none when it is absent.
func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// sizeOf adds up the files of a folder. A file with other names elsewhere
// counts too, though removing this name frees nothing yet.
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
