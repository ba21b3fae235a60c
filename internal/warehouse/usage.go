package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Usage is what one part of the folder takes of the disk.
type Usage struct {
	Part  string
	Bytes int64
}

// Names of parts that are no folder of their own at the top of the warehouse.
const (
	inboxPart = "inbox"
	otherPart = "other"
)

// Measured is a folder that MeasureParts measures as a part of its own.
type Measured struct{ Part, Dir string }

// MeasureParts adds up what each part of the folder takes of the disk, as du does: others
// first, then the series, versions, the inbox, landed answers, state, and what is in none
// of them. A file with several names counts once, for the first part that has it: most
// files of a version are the series' own. One of others that is not there is left out. It walks the folder; ctx ends it.
func MeasureParts(ctx context.Context, f *Folder, others ...Measured) ([]Usage, error) {
	if _, err := os.Stat(f.dir); err != nil {
		return nil, fmt.Errorf("measure the warehouse: %w", err)
	}
	m := measure{ctx: ctx, counted: map[fileID]bool{}}
	var all []Usage
	for i, part := range append(slices.Clone(others),
		Measured{SeriesDir, f.Path(SeriesDir)}, Measured{VersionsDir, f.Path(VersionsDir)}, Measured{inboxPart, f.InboxPath()},
		Measured{rawDir, f.Path(rawDir)}, Measured{stateDir, f.Path(stateDir)}, Measured{otherPart, f.dir}) {
		root, err := filepath.EvalSymlinks(part.Dir)
		isAbsent := errors.Is(err, fs.ErrNotExist)
		if isAbsent && i < len(others) {
			continue // its disk may be gone
		}
		var bytes int64
		if isAbsent {
			err = nil
		} else if err == nil {
			bytes, err = m.addFolder(root)
		}
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", part.Part, err)
		}
		all = append(all, Usage{part.Part, bytes})
	}
	return all, nil
}

// measure walks folders, each file and each folder once.
type measure struct {
	ctx     context.Context
	done    []string
	counted map[fileID]bool
}

// addFolder adds up a folder without those that were added before. What vanishes
// meanwhile takes nothing: a night prunes while others look.
func (m *measure) addFolder(dir string) (sum int64, err error) {
	defer func() { m.done = append(m.done, dir) }()
	return sum, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && slices.Contains(m.done, path) {
			return fs.SkipDir
		}
		var info fs.FileInfo
		if err == nil {
			info, err = e.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		id, bytes, shared := diskUse(info)
		if shared && !e.IsDir() {
			if m.counted[id] {
				return m.ctx.Err()
			}
			m.counted[id] = true
		}
		sum += bytes
		return m.ctx.Err()
	})
}

// MeasureNext is what the next night may take of the disk: what the newest version takes,
// and as much again for the draft that becomes the next one; 0 before the first.
func (v *Versions) MeasureNext() (int64, error) {
	latest, ok, err := v.Latest()
	if err != nil || !ok {
		return 0, err
	}
	files, err := os.ReadDir(v.folder.VersionPath(latest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // Check reports a missing version
		return 0, fmt.Errorf("measure the newest version: %w", err)
	}
	var sum int64
	for _, file := range files {
		if info, err := file.Info(); err == nil { // else it was pruned just now
			sum += 2 * info.Size()
		}
	}
	return sum, nil
}

// ReadLatest returns the manifest of the version that readers see; ok is false before the
// first publish. It returns an error where there are versions and none is visible.
func (v *Versions) ReadLatest() (m Manifest, ok bool, err error) {
	latest, ok, err := v.Latest()
	if err != nil {
		return m, false, err
	}
	if !ok {
		if all, err := v.List(); err != nil || len(all) > 0 {
			return m, false, errors.Join(err, v.folder.DamagedErr(v.folder.Path(LatestLink), "it is gone", nil))
		}
		return m, false, nil
	}
	m, err = v.ReadManifest(latest)
	return m, err == nil, err
}
